-- Of the reserved units of a SKU, those that have been committed. They are counted here, not in the segments, because a
-- commit locks no segment.
ALTER TABLE skus ADD COLUMN IF NOT EXISTS kept bigint NOT NULL DEFAULT 0;
