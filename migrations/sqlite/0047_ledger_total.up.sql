-- adds: what the movements of a SKU add up to, until an instant
ALTER TABLE skus ADD COLUMN moved INTEGER NOT NULL DEFAULT 0;
ALTER TABLE skus ADD COLUMN moved_until INTEGER;
