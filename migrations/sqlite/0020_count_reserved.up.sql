-- The units that are reserved at this moment count in the first segment.
UPDATE stock_segments
SET reserved = (
    SELECT coalesce(sum(d.quantity), 0) FROM deductions d
    WHERE d.sku_id = stock_segments.sku_id AND d.status = 'reserved'
) + (SELECT k.kept FROM skus k WHERE k.sku_id = stock_segments.sku_id)
WHERE segment = 0;
