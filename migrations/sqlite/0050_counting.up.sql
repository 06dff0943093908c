-- adds: how far the earlier orders of a SKU are counted for its buyer limit
ALTER TABLE skus ADD COLUMN counting INTEGER;
ALTER TABLE skus ADD COLUMN counted_until TEXT;
ALTER TABLE skus ADD COLUMN limit_since INTEGER;
