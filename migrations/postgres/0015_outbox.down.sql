-- With what turning the outbox on has made, which would write into a table that is not there.
DO $$
BEGIN
    DROP TRIGGER IF EXISTS outbox_inserted ON deductions;
    DROP TRIGGER IF EXISTS outbox_changed ON deductions;
    DROP FUNCTION IF EXISTS outbox_inserted, outbox_changed;
    DROP TABLE IF EXISTS outbox;
END $$;
