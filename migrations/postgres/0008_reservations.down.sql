-- What is reserved is committed: nothing would end it, and who pays for it shall have it.
DO $$
BEGIN
    UPDATE deductions SET status = 'committed' WHERE status = 'reserved';
    ALTER TABLE deductions
        DROP COLUMN IF EXISTS asked,
        DROP COLUMN IF EXISTS expires_at;
END $$;
