-- What a deduction was before an amendment: for how long its order asked to be reserved, null where that is from created_at to
-- expires_at still; and how many units were committed, null where that is quantity still.
ALTER TABLE deductions ADD COLUMN reserve_micros INTEGER;
ALTER TABLE deductions ADD COLUMN committed INTEGER;
