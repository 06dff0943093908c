-- The outbox is turned off: its function writes the column.
DO $$
BEGIN
    DROP TRIGGER IF EXISTS outbox_inserted ON deductions;
    DROP TRIGGER IF EXISTS outbox_changed ON deductions;
    DROP FUNCTION IF EXISTS outbox_inserted, outbox_changed;
    ALTER TABLE outbox DROP COLUMN IF EXISTS written_off;
END $$;
