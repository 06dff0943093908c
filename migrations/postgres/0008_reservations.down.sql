-- Reservations become committed: nothing would end them, and buyers who pay keep what they reserved.
DO $$
BEGIN
    UPDATE deductions SET status = 'committed' WHERE status = 'reserved';
    ALTER TABLE deductions
        DROP COLUMN IF EXISTS asked,
        DROP COLUMN IF EXISTS expires_at;
END $$;
