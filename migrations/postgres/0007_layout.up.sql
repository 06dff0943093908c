-- The SKU's layout, in the row that every write locks: a writer that knew other segments is refused by it.
ALTER TABLE stock_segments ADD COLUMN IF NOT EXISTS layout bigint NOT NULL DEFAULT 1;
