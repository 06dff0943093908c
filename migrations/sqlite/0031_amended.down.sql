-- What they hold now, and until when, stays. An order whose reservation was extended is another one to its retry.
ALTER TABLE deductions DROP COLUMN committed;
ALTER TABLE deductions DROP COLUMN reserve_micros;
