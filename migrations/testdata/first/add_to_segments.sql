UPDATE stock_segments g SET available = g.available + spread.units, version = g.version + 1
FROM unnest($2::bigint[]) WITH ORDINALITY AS spread (units, n)
WHERE g.sku_id = $1 AND g.segment = spread.n - 1 AND spread.units > 0
