-- Give back the units of reservations that have expired. The caller holds the rows of all segments of the SKU.
--
-- In:  $1 sku_id, $2 the instant (null: now), $3 the largest number of reservations
-- Out: one row: the number of reservations, the segments that got units, and how many each
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
), back AS MATERIALIZED (
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
SELECT (SELECT count(*) FROM over), array_agg(segment), array_agg(units) FROM back
