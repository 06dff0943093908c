-- What is reserved at this moment.
UPDATE stock_segments
SET reserved = (
    SELECT coalesce(sum(d.quantity), 0) FROM deductions d
    WHERE d.sku_id = stock_segments.sku_id AND d.status = 'reserved'
) + (SELECT k.kept FROM skus k WHERE k.sku_id = stock_segments.sku_id)
WHERE segment = 0;
