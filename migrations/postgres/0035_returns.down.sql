-- What was returned counts as cancelled, as before.
UPDATE deductions SET status = 'cancelled' WHERE status = 'returned';
ALTER TABLE deductions
    DROP COLUMN IF EXISTS committed_at,
    DROP COLUMN IF EXISTS ended_at,
    DROP COLUMN IF EXISTS in_order,
    DROP CONSTRAINT IF EXISTS deductions_status_check,
    ADD CONSTRAINT deductions_status_check CHECK (status IN ('reserved', 'committed', 'cancelled', 'expired')) NOT VALID;
