-- What a deduction was before an amendment: for how long its order asked to be reserved, null if that is still created_at to
-- expires_at; and how many units were committed, null if that is still quantity.
ALTER TABLE deductions
    ADD COLUMN IF NOT EXISTS reserve_micros bigint,
    ADD COLUMN IF NOT EXISTS committed      integer;
