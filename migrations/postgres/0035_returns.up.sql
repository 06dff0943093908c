-- Committed units are returned, and may be written off. committed_at is null if an older version committed it, or if it was
-- committed with created_at; ended_at is when it was cancelled or returned; in_order: it is a line of an order of several SKUs.
-- The constraint is wider than before, so the rows that are there need no check.
ALTER TABLE deductions
    ADD COLUMN IF NOT EXISTS committed_at timestamptz,
    ADD COLUMN IF NOT EXISTS ended_at     timestamptz,
    ADD COLUMN IF NOT EXISTS in_order     boolean,
    DROP CONSTRAINT IF EXISTS deductions_status_check,
    ADD CONSTRAINT deductions_status_check
        CHECK (status IN ('reserved', 'committed', 'cancelled', 'expired', 'returned')) NOT VALID;
