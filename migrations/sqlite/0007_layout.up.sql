-- The SKU's layout, in the row that every write reads: the row refuses a writer that knows other segments.
ALTER TABLE stock_segments ADD COLUMN layout INTEGER NOT NULL DEFAULT 1;
