-- The terms on which a SKU is sold, and its layout, which grows when it gets another number of segments. segments is the
-- number it was created with; how many there are now is the number of its rows in stock_segments.
ALTER TABLE skus ADD COLUMN layout INTEGER NOT NULL DEFAULT 1;
ALTER TABLE skus ADD COLUMN sale_starts_at INTEGER;
ALTER TABLE skus ADD COLUMN sale_ends_at INTEGER;
ALTER TABLE skus ADD COLUMN per_buyer_limit INTEGER CHECK (per_buyer_limit > 0);
ALTER TABLE skus ADD COLUMN max_quantity INTEGER CHECK (max_quantity > 0);
