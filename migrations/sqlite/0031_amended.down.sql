-- Deductions keep their units and their end. The retry of an order whose reservation was extended counts as another order.
ALTER TABLE deductions DROP COLUMN committed;
ALTER TABLE deductions DROP COLUMN reserve_micros;
