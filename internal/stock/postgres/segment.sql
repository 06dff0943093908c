-- The rows of segments and of buyers' counts: lock and change them.

-- name: lock_layout
-- In: $1 sku_id
--
-- It locks the first segment's row, which is always there, and which every change of the layout locks first. So the statement
-- after this one sees all rows: a statement that had to wait for this row itself would not see new ones.
SELECT 1 FROM stock_segments WHERE sku_id = $1 AND segment = 0 FOR UPDATE;

-- name: lock_segments
-- In:  $1 sku_id
-- Out: all segments, ascending: available, reserved, fence, fence_owner, layout, version
SELECT available, reserved, fence, fence_owner, layout, version
FROM stock_segments WHERE sku_id = $1 ORDER BY segment FOR UPDATE;

-- name: lock_free
-- In:  $1 sku_id
-- Out: as lock_segments, and whether another transaction holds the row: then it is not locked, and read as it was last committed
WITH free AS MATERIALIZED (
    SELECT segment, available, reserved, fence, fence_owner, layout, version
    FROM stock_segments WHERE sku_id = $1 ORDER BY segment FOR UPDATE SKIP LOCKED
)
SELECT coalesce(f.available, g.available), coalesce(f.reserved, g.reserved), coalesce(f.fence, g.fence),
       coalesce(f.fence_owner, g.fence_owner), coalesce(f.layout, g.layout), coalesce(f.version, g.version), f.segment IS NULL
FROM stock_segments g LEFT JOIN free f USING (segment)
WHERE g.sku_id = $1 ORDER BY segment;

-- name: lock_some
-- In:  $1 sku_id, $2 segments
-- Out: as lock_segments, of those that exist
SELECT available, reserved, fence, fence_owner, layout, version
FROM stock_segments WHERE sku_id = $1 AND segment = ANY ($2::integer[]) ORDER BY segment FOR UPDATE;

-- name: change_segments
-- In: $1 sku_id; arrays: $2 segments, $3 units to add, $4 reserved units to add, $5 fencing tokens (0: the row keeps its own),
--     $6 their owners
UPDATE stock_segments AS g
SET available   = g.available + change.units,
    reserved    = g.reserved + change.reserved,
    version     = g.version + 1,
    fence       = CASE WHEN change.token = 0 THEN g.fence ELSE change.token END,
    fence_owner = CASE WHEN change.token = 0 THEN g.fence_owner ELSE change.owner END
FROM unnest($2::integer[], $3::bigint[], $4::bigint[], $5::bigint[], $6::text[]) AS change (segment, units, reserved, token, owner)
WHERE g.sku_id = $1 AND g.segment = change.segment;

-- name: buyer_units
-- In:  $1 the count, $2 buyer_ids
-- Out: buyer_id, units that the buyer is counted with
--
-- Each is looked up by itself, as in deductions_by_id.
SELECT n.buyer_id, n.units
FROM unnest($2::text[]) AS asked (id)
CROSS JOIN LATERAL (SELECT * FROM buyers WHERE sku_id = $1 AND buyer_id = asked.id OFFSET 0) AS n;

-- name: count_buyers
-- In: $1 the count, $2 buyer_ids, $3 units, $4 the limit per buyer
--
-- It waits for another transaction that writes a buyer's row, and adds to what it finds then. A buyer who would be above the
-- limit is left out.
INSERT INTO buyers AS n (sku_id, buyer_id, units, most)
SELECT $1, b, q, $4::bigint FROM unnest($2::text[], $3::bigint[]) AS asked (b, q) WHERE q <= $4
ORDER BY b COLLATE "C"
ON CONFLICT (sku_id, buyer_id) DO UPDATE SET units = n.units + excluded.units, most = excluded.most
    WHERE n.units + excluded.units <= excluded.most;

-- name: uncount_buyers
-- In: arrays: $1 the counts, $2 buyer_ids, $3 units that come back
--
-- Rows are locked in ascending order, as where buyers are counted. An update would miss a row that was written since it was looked up.
INSERT INTO buyers AS n (sku_id, buyer_id, units, most)
SELECT counted_at, b, 0, u FROM unnest($1::text[], $2::text[], $3::bigint[]) AS back (counted_at, b, u)
ORDER BY counted_at COLLATE "C", b COLLATE "C"
ON CONFLICT (sku_id, buyer_id) DO UPDATE SET units = n.units - excluded.most;

-- name: count_earlier
-- In: $1 the count; arrays: $2 buyer_ids, $3 units; $4 the limit per buyer. A buyer may have more.
INSERT INTO buyers AS n (sku_id, buyer_id, units, most)
SELECT $1, b, q, greatest(q, $4::bigint) FROM unnest($2::text[], $3::bigint[]) AS earlier (b, q)
ORDER BY b COLLATE "C"
ON CONFLICT (sku_id, buyer_id) DO UPDATE SET units = n.units + excluded.units, most = greatest(n.most, n.units + excluded.units);
