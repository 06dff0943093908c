-- How many units of a deduction were written off: returned, and not sold again; null: none. So the outbox can tell them apart.
ALTER TABLE deductions ADD COLUMN written_off INTEGER;
