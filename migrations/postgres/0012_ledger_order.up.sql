-- The ledger is read by time.
CREATE INDEX IF NOT EXISTS movements_by_time ON movements (sku_id, created_at, ref);
