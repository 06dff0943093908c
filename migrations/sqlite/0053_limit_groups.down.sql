-- loses: the limit groups of SKUs; such a SKU keeps its limit, and counts later orders only
DELETE FROM buyers WHERE sku_id >= '#' AND sku_id < '$';
UPDATE deductions SET limited = NULL WHERE counted_at IS NOT NULL;
ALTER TABLE deductions DROP COLUMN counted_at;
ALTER TABLE skus DROP COLUMN limit_group;
