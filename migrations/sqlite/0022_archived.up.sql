-- Since when the SKU sells nothing for good; null: it sells. The segments of an archived SKU have a layout that no process
-- sells from.
ALTER TABLE skus ADD COLUMN archived_at INTEGER;
