-- Since when the SKU sells nothing for good; null: it sells. The rows of its segments have a layout then that nobody sells from.
ALTER TABLE skus ADD COLUMN archived_at INTEGER;
