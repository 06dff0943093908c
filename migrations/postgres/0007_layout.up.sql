-- The SKU's layout, in the row that every write locks: the row refuses a writer that knows other segments.
ALTER TABLE stock_segments ADD COLUMN IF NOT EXISTS layout bigint NOT NULL DEFAULT 1;
