-- Deductions keep their units and their end. The retry of an order whose reservation was extended counts as another order.
ALTER TABLE deductions
    DROP COLUMN IF EXISTS reserve_micros,
    DROP COLUMN IF EXISTS committed;
