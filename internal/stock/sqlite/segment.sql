-- The rows of segments and of buyers' counts: read and change them. A transaction has the file to itself, so it locks no rows.

-- name: lock_layout
-- In: @sku_id. There is nothing to wait for.
SELECT 1 FROM stock_segments WHERE sku_id = @sku_id AND segment = 0;

-- name: lock_segments
-- In:  @sku_id
-- Out: all segments, ascending: available, reserved, fence, fence_owner, layout, version
SELECT available, reserved, fence, fence_owner, layout, version FROM stock_segments WHERE sku_id = @sku_id ORDER BY segment;

-- name: lock_free
-- In:  @sku_id
-- Out: as lock_segments, and whether another transaction holds the row: none does
SELECT available, reserved, fence, fence_owner, layout, version, false FROM stock_segments WHERE sku_id = @sku_id ORDER BY segment;

-- name: lock_some
-- In:  @sku_id, @segments
-- Out: as lock_segments, of those that exist
SELECT available, reserved, fence, fence_owner, layout, version
FROM stock_segments WHERE sku_id = @sku_id AND segment IN (SELECT value FROM json_each(@segments)) ORDER BY segment;

-- name: segment
-- In:  @sku_id, @segment
-- Out: available, reserved, layout, version, fence, fence_owner
SELECT available, reserved, layout, version, fence, fence_owner FROM stock_segments WHERE sku_id = @sku_id AND segment = @segment;

-- name: change_segment
-- In: @sku_id, @segment, @units to add, @token the fencing token (0: the row keeps its own), @owner of the token, @reserved units to add
UPDATE stock_segments
SET available   = available + @units,
    reserved    = reserved + @reserved,
    version     = version + 1,
    fence       = CASE WHEN @token = 0 THEN fence ELSE @token END,
    fence_owner = CASE WHEN @token = 0 THEN fence_owner ELSE @owner END
WHERE sku_id = @sku_id AND segment = @segment;

-- name: change_segments
-- In: @sku_id; arrays: @segments, @units to add, @reserved units to add, @tokens the fencing tokens (0: the row keeps its own), @owners of
--     the tokens
UPDATE stock_segments AS g
SET available   = g.available + change.units,
    reserved    = g.reserved + change.reserved,
    version     = g.version + 1,
    fence       = CASE WHEN change.token = 0 THEN g.fence ELSE change.token END,
    fence_owner = CASE WHEN change.token = 0 THEN g.fence_owner ELSE change.owner END
FROM (
    SELECT value AS segment, @units ->> key AS units, @reserved ->> key AS reserved, @tokens ->> key AS token, @owners ->> key AS owner
    FROM json_each(@segments) LIMIT -1
) AS change
WHERE g.sku_id = @sku_id AND g.segment = change.segment;

-- name: buyer_units
-- In:  @counted_at the count, @buyer_ids
-- Out: buyer_id, units that the buyer is counted with
SELECT n.buyer_id, n.units
FROM (SELECT value AS id FROM json_each(@buyer_ids)) AS asked
CROSS JOIN buyers AS n ON sku_id = @counted_at AND buyer_id = asked.id;

-- name: count_buyers
-- In: @counted_at the count, @buyer_ids, @units, @per_buyer_limit
--
-- A buyer who would be above the limit is left out.
INSERT INTO buyers AS n (sku_id, buyer_id, units, most)
SELECT @counted_at, b, q, @per_buyer_limit
FROM (SELECT value AS b, @units ->> key AS q FROM json_each(@buyer_ids) LIMIT -1) AS asked WHERE q <= @per_buyer_limit
ORDER BY b
ON CONFLICT (sku_id, buyer_id) DO UPDATE SET units = n.units + excluded.units, most = excluded.most
    WHERE n.units + excluded.units <= excluded.most;

-- name: uncount_buyers
-- In: arrays: @counts where each buyer is counted, @buyer_ids, @units that come back
INSERT INTO buyers AS n (sku_id, buyer_id, units, most)
SELECT counted_at, b, 0, u
FROM (SELECT value AS counted_at, @buyer_ids ->> key AS b, @units ->> key AS u FROM json_each(@counts) LIMIT -1) AS back
WHERE true ORDER BY counted_at, b
ON CONFLICT (sku_id, buyer_id) DO UPDATE SET units = n.units - excluded.most;

-- name: count_earlier
-- In: @counted_at the count; arrays: @buyer_ids, @units; @per_buyer_limit. A buyer may have more.
INSERT INTO buyers AS n (sku_id, buyer_id, units, most)
SELECT @counted_at, b, q, max(q, @per_buyer_limit)
FROM (SELECT value AS b, @units ->> key AS q FROM json_each(@buyer_ids) LIMIT -1) AS earlier
WHERE true ORDER BY b
ON CONFLICT (sku_id, buyer_id) DO UPDATE SET units = n.units + excluded.units, most = max(n.most, n.units + excluded.units);
