-- What was added and taken away becomes part of the initial stock, so that every unit adds up.
DO $$
BEGIN
    UPDATE skus k SET initial = k.initial + m.units
    FROM (SELECT sku_id, sum(quantity) AS units FROM movements GROUP BY sku_id) m WHERE m.sku_id = k.sku_id;
    DROP TABLE movements;
END $$;
