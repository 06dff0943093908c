-- The rows of segments and of buyers' counts: lock and change them.

-- name: lock_layout
-- In: @sku_id
--
-- It locks the first segment's row, which is always there, and which every change of the layout locks first. So the statement
-- after this one sees all rows: a statement that had to wait for this row itself would not see new ones.
SELECT 1 FROM stock_segments WHERE sku_id = @sku_id AND segment = 0 FOR UPDATE;

-- name: lock_segments
-- In:  @sku_id
-- Out: all segments, ascending: available, reserved, fence, fence_owner, layout, version
SELECT available, reserved, fence, fence_owner, layout, version
FROM stock_segments WHERE sku_id = @sku_id ORDER BY segment FOR UPDATE;

-- name: lock_free
-- In:  @sku_id
-- Out: as lock_segments, and whether another transaction holds the row: then it is not locked, and read as it was last committed
WITH free AS MATERIALIZED (
    SELECT segment, available, reserved, fence, fence_owner, layout, version
    FROM stock_segments WHERE sku_id = @sku_id ORDER BY segment FOR UPDATE SKIP LOCKED
)
SELECT coalesce(f.available, g.available), coalesce(f.reserved, g.reserved), coalesce(f.fence, g.fence),
       coalesce(f.fence_owner, g.fence_owner), coalesce(f.layout, g.layout), coalesce(f.version, g.version), f.segment IS NULL
FROM stock_segments g LEFT JOIN free f USING (segment)
WHERE g.sku_id = @sku_id ORDER BY segment;

-- name: lock_some
-- In:  @sku_id, @segments
-- Out: as lock_segments, of those that exist
SELECT available, reserved, fence, fence_owner, layout, version
FROM stock_segments WHERE sku_id = @sku_id AND segment = ANY (@segments::integer[]) ORDER BY segment FOR UPDATE;

-- name: change_segments
-- In: @sku_id; arrays: @segments, @units to add, @reserved units to add, @tokens the fencing tokens (0: the row keeps its own), @owners of
--     the tokens
UPDATE stock_segments AS g
SET available   = g.available + change.units,
    reserved    = g.reserved + change.reserved,
    version     = g.version + 1,
    fence       = CASE WHEN change.token = 0 THEN g.fence ELSE change.token END,
    fence_owner = CASE WHEN change.token = 0 THEN g.fence_owner ELSE change.owner END
FROM unnest(@segments::integer[], @units::bigint[], @reserved::bigint[], @tokens::bigint[], @owners::text[])
     AS change (segment, units, reserved, token, owner)
WHERE g.sku_id = @sku_id AND g.segment = change.segment;

-- name: buyer_units
-- In:  @counted_at the count, @buyer_ids
-- Out: buyer_id, units that the buyer is counted with
--
-- Each is looked up by itself, as in deductions_by_id.
SELECT n.buyer_id, n.units
FROM unnest(@buyer_ids::text[]) AS asked (id)
CROSS JOIN LATERAL (SELECT * FROM buyers WHERE sku_id = @counted_at AND buyer_id = asked.id OFFSET 0) AS n;

-- name: count_buyers
-- In: @counted_at the count, @buyer_ids, @units, @per_buyer_limit
--
-- It waits for another transaction that writes a buyer's row, and adds to what it finds then. A buyer who would be above the
-- limit is left out.
INSERT INTO buyers AS n (sku_id, buyer_id, units, most)
SELECT @counted_at, b, q, @per_buyer_limit::bigint
FROM unnest(@buyer_ids::text[], @units::bigint[]) AS asked (b, q) WHERE q <= @per_buyer_limit
ORDER BY b COLLATE "C"
ON CONFLICT (sku_id, buyer_id) DO UPDATE SET units = n.units + excluded.units, most = excluded.most
    WHERE n.units + excluded.units <= excluded.most;

-- name: uncount_buyers
-- In: arrays: @counts where each buyer is counted, @buyer_ids, @units that come back
--
-- Rows are locked in ascending order, as where buyers are counted. An update would miss a row that was written since it was looked up.
INSERT INTO buyers AS n (sku_id, buyer_id, units, most)
SELECT counted_at, b, 0, u FROM unnest(@counts::text[], @buyer_ids::text[], @units::bigint[]) AS back (counted_at, b, u)
ORDER BY counted_at COLLATE "C", b COLLATE "C"
ON CONFLICT (sku_id, buyer_id) DO UPDATE SET units = n.units - excluded.most;

-- name: count_earlier
-- In: @counted_at the count; arrays: @buyer_ids, @units; @per_buyer_limit. A buyer may have more.
INSERT INTO buyers AS n (sku_id, buyer_id, units, most)
SELECT @counted_at, b, q, greatest(q, @per_buyer_limit::bigint)
FROM unnest(@buyer_ids::text[], @units::bigint[]) AS earlier (b, q)
ORDER BY b COLLATE "C"
ON CONFLICT (sku_id, buyer_id) DO UPDATE SET units = n.units + excluded.units, most = greatest(n.most, n.units + excluded.units);
