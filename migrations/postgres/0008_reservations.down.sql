ALTER TABLE deductions
    DROP COLUMN IF EXISTS asked,
    DROP COLUMN IF EXISTS expires_at;
