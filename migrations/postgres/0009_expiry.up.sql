-- Reservations that are live, by when they expire. Plain deductions are not in it.
CREATE INDEX IF NOT EXISTS deductions_by_expiry ON deductions (sku_id, expires_at) WHERE status = 'reserved';
