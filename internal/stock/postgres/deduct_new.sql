-- Take a batch of orders from one segment if all of them are new: all of them, or nothing. For SKUs without a buyer limit. It is what
-- deduct.sql does, which also decides batches with orders that are known, for 0.6 to 0.8 of its time.
--
-- In:  as in deduct.sql
-- Out: the instant of the decision, and what the segment holds now; no row, and nothing is written, if the segment has no row of this
--      layout under this fence, or holds too little.
--      It fails by inventory_require if the SKU is not sold at the instant, or if it ends after the deadline or the end of the sale; and
--      by a key if an order id is there.
--
-- The row of the segment is changed first: that locks it, and two batches of a segment never insert beside each other. Batches of two
-- segments that insert the same order ids may wait for each other in a circle. The bound on the wait ends it; see deduct.sql, also for
-- the clock.
WITH bounded AS MATERIALIZED (
    SELECT set_config('lock_timeout', '50ms', true)
), updated AS (
    UPDATE stock_segments g
    SET available   = available - $8::bigint,
        reserved    = g.reserved + CASE WHEN $7::bigint[] IS NULL THEN 0 ELSE
                          (SELECT coalesce(sum(q) FILTER (WHERE r > 0), 0) FROM unnest($6::integer[], $7) AS asked (q, r)) END,
        version     = version + 1,
        fence       = CASE WHEN $3 = 0 THEN fence ELSE $3 END,
        fence_owner = CASE WHEN $3 = 0 THEN fence_owner ELSE $4 END
    FROM bounded
    WHERE sku_id = $1 AND segment = $2 AND layout = $10 AND available >= $8
      AND ($3::bigint = 0 OR fence < $3 OR (fence = $3 AND fence_owner = $4))
    RETURNING available
), decided AS MATERIALIZED (
    SELECT available, $2::integer AS s, coalesce($9::timestamptz, clock_timestamp()) AS at FROM updated
), inserted AS (
    INSERT INTO deductions (sku_id, order_id, quantity, segment, status, expires_at, created_at, buyer_id)
    SELECT $1, o, q, s, CASE WHEN r > 0 THEN 'reserved' ELSE 'committed' END,
           at + nullif(r, 0) * interval '1 microsecond', at, nullif(buyer_id, '')
    FROM decided, unnest($5::text[], $6, $7, $14::text[]) AS asked (o, q, r, buyer_id)
    RETURNING 1
), done AS MATERIALIZED (
    SELECT count(*) AS orders FROM inserted
)
SELECT at, available, inventory_require(
    orders = cardinality($5)
        AND ($12::timestamptz IS NULL OR at >= $12)
        AND ($13::timestamptz IS NULL OR coalesce($9, clock_timestamp()) < $13)
        AND ($11::timestamptz IS NULL OR clock_timestamp() <= $11), 0)
FROM decided, done
