-- The triggers are dropped as well: they would write into a table that does not exist.
DO $$
BEGIN
    DROP TRIGGER IF EXISTS outbox_inserted ON deductions;
    DROP TRIGGER IF EXISTS outbox_changed ON deductions;
    DROP FUNCTION IF EXISTS outbox_inserted, outbox_changed;
    DROP TABLE IF EXISTS outbox;
END $$;
