UPDATE stock_segments g
SET available   = g.available + change.units,
    version     = g.version + 1,
    fence       = CASE WHEN change.token = 0 THEN g.fence ELSE change.token END,
    fence_owner = CASE WHEN change.token = 0 THEN g.fence_owner ELSE change.owner END
FROM unnest($2::integer[], $3::bigint[], $4::bigint[], $5::text[]) AS change (segment, units, token, owner)
WHERE g.sku_id = $1 AND g.segment = change.segment
