-- The sale of an archived SKU ends, so that what is left is not sold. Its segments get the SKU's layout back: with the layout
-- that they have now it could never be sold again, and nothing would show why.
UPDATE stock_segments SET layout = k.layout FROM skus k WHERE k.sku_id = stock_segments.sku_id AND k.archived_at IS NOT NULL;
UPDATE skus SET sale_ends_at = min(coalesce(sale_ends_at, archived_at), archived_at), sale_starts_at = CASE WHEN sale_starts_at < archived_at THEN sale_starts_at END
WHERE archived_at IS NOT NULL;
ALTER TABLE skus DROP COLUMN archived_at;
