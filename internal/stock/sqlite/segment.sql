-- The rows of segments and of buyers' counts: read and change them. A transaction has the file to itself, so it locks no rows.

-- name: lock_layout
-- In: $1 sku_id. There is nothing to wait for.
SELECT 1 FROM stock_segments WHERE sku_id = $1 AND segment = 0;

-- name: lock_segments
-- In:  $1 sku_id
-- Out: all segments, ascending: available, reserved, fence, fence_owner, layout, version
SELECT available, reserved, fence, fence_owner, layout, version FROM stock_segments WHERE sku_id = $1 ORDER BY segment;

-- name: lock_free
-- In:  $1 sku_id
-- Out: as lock_segments, and whether another transaction holds the row: none does
SELECT available, reserved, fence, fence_owner, layout, version, false FROM stock_segments WHERE sku_id = $1 ORDER BY segment;

-- name: lock_some
-- In:  $1 sku_id, $2 segments
-- Out: as lock_segments, of those that exist
SELECT available, reserved, fence, fence_owner, layout, version
FROM stock_segments WHERE sku_id = $1 AND segment IN (SELECT value FROM json_each($2)) ORDER BY segment;

-- name: segment
-- In:  $1 sku_id, $2 segment
-- Out: available, reserved, layout, version, fence, fence_owner
SELECT available, reserved, layout, version, fence, fence_owner FROM stock_segments WHERE sku_id = $1 AND segment = $2;

-- name: change_segment
-- In: $1 sku_id, $2 segment, $3 units to add, $4 the fencing token (0: the row keeps its own), $5 its owner, $6 reserved units to add
UPDATE stock_segments
SET available   = available + $3,
    reserved    = reserved + $6,
    version     = version + 1,
    fence       = CASE WHEN $4 = 0 THEN fence ELSE $4 END,
    fence_owner = CASE WHEN $4 = 0 THEN fence_owner ELSE $5 END
WHERE sku_id = $1 AND segment = $2;

-- name: change_segments
-- In: $1 sku_id; arrays: $2 segments, $3 units to add, $4 reserved units to add, $5 fencing tokens (0: the row keeps its own),
--     $6 their owners
UPDATE stock_segments AS g
SET available   = g.available + change.units,
    reserved    = g.reserved + change.reserved,
    version     = g.version + 1,
    fence       = CASE WHEN change.token = 0 THEN g.fence ELSE change.token END,
    fence_owner = CASE WHEN change.token = 0 THEN g.fence_owner ELSE change.owner END
FROM (
    SELECT value AS segment, $3 ->> key AS units, $4 ->> key AS reserved, $5 ->> key AS token, $6 ->> key AS owner
    FROM json_each($2) LIMIT -1
) AS change
WHERE g.sku_id = $1 AND g.segment = change.segment;

-- name: buyer_units
-- In:  $1 the count, $2 buyer_ids
-- Out: buyer_id, units that the buyer is counted with
SELECT n.buyer_id, n.units
FROM (SELECT value AS id FROM json_each($2)) AS asked
CROSS JOIN buyers AS n ON sku_id = $1 AND buyer_id = asked.id;

-- name: count_buyers
-- In: $1 the count, $2 buyer_ids, $3 units, $4 the limit per buyer
--
-- A buyer who would be above the limit is left out.
INSERT INTO buyers AS n (sku_id, buyer_id, units, most)
SELECT $1, b, q, $4 FROM (SELECT value AS b, $3 ->> key AS q FROM json_each($2) LIMIT -1) AS asked WHERE q <= $4
ORDER BY b
ON CONFLICT (sku_id, buyer_id) DO UPDATE SET units = n.units + excluded.units, most = excluded.most
    WHERE n.units + excluded.units <= excluded.most;

-- name: uncount_buyers
-- In: arrays: $1 the counts, $2 buyer_ids, $3 units that come back
INSERT INTO buyers AS n (sku_id, buyer_id, units, most)
SELECT counted_at, b, 0, u FROM (SELECT value AS counted_at, $2 ->> key AS b, $3 ->> key AS u FROM json_each($1) LIMIT -1) AS back
WHERE true ORDER BY counted_at, b
ON CONFLICT (sku_id, buyer_id) DO UPDATE SET units = n.units - excluded.most;

-- name: count_earlier
-- In: $1 the count; arrays: $2 buyer_ids, $3 units; $4 the limit per buyer. A buyer may have more.
INSERT INTO buyers AS n (sku_id, buyer_id, units, most)
SELECT $1, b, q, max(q, $4) FROM (SELECT value AS b, $3 ->> key AS q FROM json_each($2) LIMIT -1) AS earlier
WHERE true ORDER BY b
ON CONFLICT (sku_id, buyer_id) DO UPDATE SET units = n.units + excluded.units, most = max(n.most, n.units + excluded.units);
