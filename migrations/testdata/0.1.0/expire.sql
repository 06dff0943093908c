-- Reservations that have expired.

-- name: has_expired
-- In:  $1 sku_id, $2 the instant (null: now)
-- Out: whether reservations have expired whose units are not back
SELECT EXISTS (
    SELECT 1 FROM deductions
    WHERE sku_id = $1 AND status = 'reserved' AND expires_at <= (SELECT coalesce($2::timestamptz, clock_timestamp())));

-- name: next_expiry
-- In:  $1 sku_id
-- Out: the earliest expiry of a reservation; null: there is none
--
-- It reads the first entry of the index. For min(), a planner that expects one row would read all of them.
SELECT (SELECT expires_at FROM deductions WHERE sku_id = $1 AND status = 'reserved' ORDER BY expires_at LIMIT 1);

-- name: skus_with_expired
-- In:  $1 the instant (null: now), $2 how many
-- Out: sku_ids
--
-- It walks through the index of live reservations from SKU to SKU, and reads one of each SKU, the first to expire.
WITH RECURSIVE reserving AS (
    SELECT (SELECT sku_id FROM deductions WHERE status = 'reserved' AND sku_id > '' ORDER BY sku_id LIMIT 1) AS sku_id
    UNION ALL
    SELECT (SELECT d.sku_id FROM deductions d WHERE d.status = 'reserved' AND d.sku_id > reserving.sku_id
            ORDER BY d.sku_id LIMIT 1)
    FROM reserving WHERE reserving.sku_id IS NOT NULL
)
SELECT sku_id FROM reserving
WHERE EXISTS (
    SELECT 1 FROM deductions d WHERE d.sku_id = reserving.sku_id AND d.status = 'reserved'
      AND d.expires_at <= (SELECT coalesce($1::timestamptz, clock_timestamp())))
LIMIT $2;

-- name: expire :patient
-- Give back the units of reservations that have expired. The caller holds the rows of all segments of the SKU.
--
-- In:  $1 sku_id, $2 the instant (null: now), $3 the largest number of reservations
-- Out: the number of reservations
--
-- A commit or an extension of reservations locks their rows and no segment's. So the rows are locked here, in ascending order,
-- and those that turn out to be committed, or to end later, are left out. If a segment no longer exists, another one takes
-- its units, as in stock.Returns.
--
-- Each row is looked up by itself: for a join with a CTE, the plan would expect one row, and read the whole SKU to find it.
-- Buyers do not change meanwhile: they are counted under a segment's lock. A reservation may have been extended after this
-- snapshot and before its row was locked here. So the update finds it by its key: by its ctid in the snapshot the update would
-- miss it, and its units would come back again.
WITH due AS MATERIALIZED (
    SELECT order_id FROM deductions
    WHERE sku_id = $1 AND status = 'reserved' AND expires_at <= (SELECT coalesce($2::timestamptz, clock_timestamp()))
    ORDER BY expires_at LIMIT $3::bigint
), over AS MATERIALIZED (
    SELECT d.order_id, d.buyer_id, d.quantity, d.segment
    FROM unnest(ARRAY(SELECT order_id FROM due ORDER BY order_id)) AS late (order_id)
    CROSS JOIN LATERAL (
        SELECT * FROM deductions WHERE sku_id = $1 AND order_id = late.order_id OFFSET 0 FOR UPDATE
    ) AS d
    WHERE d.status = 'reserved' AND d.expires_at <= (SELECT coalesce($2::timestamptz, clock_timestamp()))
), ended AS (
    UPDATE deductions SET status = 'expired' WHERE sku_id = $1 AND order_id = ANY (ARRAY(SELECT order_id FROM over))
), uncounted AS (
    UPDATE buyers n SET units = n.units - back.units
    FROM (SELECT buyer_id, sum(quantity) AS units FROM over GROUP BY buyer_id) back
    WHERE n.ctid = (SELECT ctid FROM buyers WHERE sku_id = $1 AND buyer_id = back.buyer_id)
), back AS (
    SELECT given.segment % (SELECT count(*) FROM stock_segments WHERE sku_id = $1) AS segment, sum(given.quantity) AS units
    FROM (
        SELECT segment, quantity FROM over WHERE segment IS NOT NULL
        UNION ALL
        SELECT p.segment, p.quantity
        FROM over CROSS JOIN LATERAL (
            SELECT segment, quantity FROM deduction_parts WHERE sku_id = $1 AND order_id = over.order_id OFFSET 0
        ) AS p
        WHERE over.segment IS NULL
    ) given
    GROUP BY 1
), returned AS (
    UPDATE stock_segments g
    SET available = g.available + back.units, reserved = g.reserved - back.units, version = g.version + 1
    FROM back
    WHERE g.sku_id = $1 AND g.segment = back.segment
)
SELECT count(*) FROM over
;
