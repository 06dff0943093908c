ALTER TABLE deductions
    DROP COLUMN IF EXISTS reserve_micros,
    DROP COLUMN IF EXISTS committed;
