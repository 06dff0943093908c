-- fills: the sums of the movements that are there
UPDATE skus SET moved = added.units, moved_until = added.until
FROM (SELECT sku_id, sum(quantity) AS units, max(created_at) AS until FROM movements GROUP BY sku_id) AS added
WHERE skus.sku_id = added.sku_id;
