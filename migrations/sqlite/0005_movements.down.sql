-- What was added and taken away counts as if it had been there from the beginning, so that every unit adds up.
UPDATE skus SET initial = initial + m.units
FROM (SELECT sku_id, sum(quantity) AS units FROM movements GROUP BY sku_id) m WHERE m.sku_id = skus.sku_id;
DROP TABLE movements;
