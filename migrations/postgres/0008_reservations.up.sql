-- A reservation is a deduction that expires unless it is committed. asked is what the order asked for, null if that is
-- still quantity: a partial commit lowers quantity. expires_at stays after the reservation has ended.
ALTER TABLE deductions
    ADD COLUMN IF NOT EXISTS asked      integer,
    ADD COLUMN IF NOT EXISTS expires_at timestamptz;
