-- Of the reserved units of a SKU, those that have been committed. Here and not in the segments, because a commit locks none.
ALTER TABLE skus ADD COLUMN IF NOT EXISTS kept bigint NOT NULL DEFAULT 0;
