-- What they hold now, and until when, stays. An order whose reservation was extended is another one to its retry.
ALTER TABLE deductions
    DROP COLUMN IF EXISTS reserve_micros,
    DROP COLUMN IF EXISTS committed;
