UPDATE stock_segments
SET available   = available - $3,
    version     = version + 1,
    fence       = CASE WHEN $4::bigint = 0 THEN fence ELSE $4 END,
    fence_owner = CASE WHEN $4 = 0 THEN fence_owner ELSE $5 END
WHERE sku_id = $1 AND segment = $2
RETURNING available
