-- The outbox is turned off: its triggers read the column.
DROP TRIGGER IF EXISTS outbox_inserted;
DROP TRIGGER IF EXISTS outbox_changed;
ALTER TABLE deductions DROP COLUMN written_off;
