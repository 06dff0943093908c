-- Of the reserved units of a SKU, those that have been committed.
ALTER TABLE skus ADD COLUMN kept INTEGER NOT NULL DEFAULT 0;
