-- The outbox is turned off: its triggers write the column.
DROP TRIGGER IF EXISTS outbox_inserted;
DROP TRIGGER IF EXISTS outbox_changed;
ALTER TABLE outbox DROP COLUMN written_off;
