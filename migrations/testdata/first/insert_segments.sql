INSERT INTO stock_segments (sku_id, segment, available)
SELECT $1, n - 1, a FROM unnest($2::bigint[]) WITH ORDINALITY AS spread (a, n)
