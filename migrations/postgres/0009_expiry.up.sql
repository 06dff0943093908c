-- The live reservations, by when they expire. Plain deductions are not in this index.
CREATE INDEX IF NOT EXISTS deductions_by_expiry ON deductions (sku_id, expires_at) WHERE status = 'reserved';
