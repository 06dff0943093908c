SELECT k.name, k.initial + coalesce((SELECT sum(quantity) FROM movements m WHERE m.sku_id = $1), 0)::bigint,
       (SELECT array_agg(available ORDER BY segment) FROM stock_segments g WHERE g.sku_id = $1)
FROM skus k WHERE k.sku_id = $1
