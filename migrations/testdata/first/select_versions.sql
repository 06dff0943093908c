SELECT array_agg(version ORDER BY segment), coalesce(sum(available), 0) = 0 FROM stock_segments WHERE sku_id = $1
