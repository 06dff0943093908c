-- The SKU's layout, in the row that every write reads: a writer that knew other segments is refused by it.
ALTER TABLE stock_segments ADD COLUMN layout INTEGER NOT NULL DEFAULT 1;
