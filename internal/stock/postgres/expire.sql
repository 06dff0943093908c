-- Give back the units of reservations that have expired. The caller holds the rows of all segments of the SKU.
--
-- In:  $1 sku_id, $2 time, $3 of how many reservations at most (null: all)
-- Out: one row: of how many reservations, the segments that got something, and how much each
--
-- Whoever commits reservations holds their rows and no segment's. So they are locked ascending, and those that were
-- committed meanwhile fall out. A segment that is gone has another one in its place, as in stock.Returns.
WITH due AS MATERIALIZED (
    SELECT order_id FROM deductions
    WHERE sku_id = $1 AND status = 'reserved' AND expires_at <= $2
    ORDER BY expires_at LIMIT $3::bigint
), over AS MATERIALIZED (
    SELECT d.order_id, d.buyer_id, d.quantity, d.segment
    FROM due JOIN deductions d ON d.sku_id = $1 AND d.order_id = due.order_id
    WHERE d.status = 'reserved'
    ORDER BY d.order_id
    FOR UPDATE OF d
), ended AS (
    UPDATE deductions d SET status = 'expired' FROM over WHERE d.sku_id = $1 AND d.order_id = over.order_id
), uncounted AS (
    UPDATE buyers n SET units = n.units - back.units
    FROM (SELECT buyer_id, sum(quantity) AS units FROM over GROUP BY buyer_id) back
    WHERE n.sku_id = $1 AND n.buyer_id = back.buyer_id
), back AS MATERIALIZED (
    SELECT coalesce(p.segment, o.segment) % (SELECT count(*) FROM stock_segments WHERE sku_id = $1) AS segment,
           sum(coalesce(p.quantity, o.quantity)) AS units
    FROM over o LEFT JOIN deduction_parts p ON p.sku_id = $1 AND p.order_id = o.order_id
    GROUP BY 1
), returned AS (
    UPDATE stock_segments g SET available = g.available + back.units, version = g.version + 1
    FROM back
    WHERE g.sku_id = $1 AND g.segment = back.segment
)
SELECT (SELECT count(*) FROM over), array_agg(segment), array_agg(units) FROM back
