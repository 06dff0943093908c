-- Take a batch of orders from one segment of a SKU that has a buyer limit: all that are new and within it, or none.
--
-- In:  $1 to $11 as in deduct.sql, $12 the limit, $13 whether order ids that are there already are looked for first; no
--      buyer occurs twice
-- Out: as in deduct.sql, and if some orders were not inserted: those that are not known to be there, but whose buyers hold
--      too much for them (null: there are none), and whether reservations of the SKU have expired whose units are not back.
--
-- A buyer is counted before the order is inserted: a row that another batch has written meanwhile is waited for and seen.
-- Buyers and order ids go in ascending. Where an order id is there that was not looked for, or another batch was faster with
-- it, its buyer is counted twice: then the statement divides by zero, so that nothing of it is written.
--
-- What is looked up for each order stands in scalar sub-selects, which are looked up in the index: of tables that grow, a
-- planner that knows old sizes reads all of the SKU for a join, or compares each order with each buyer. The order in which
-- the earliest expiry is asked for is that of its index.
WITH segment_row AS MATERIALIZED (
    SELECT available
    FROM stock_segments
    WHERE sku_id = $1 AND segment = $2 AND layout = $11
      AND ($3::bigint = 0 OR fence < $3 OR (fence = $3 AND fence_owner = $4))
    FOR UPDATE
), fresh AS MATERIALIZED (
    SELECT o, b, q, r
    FROM segment_row, unnest($5::text[], $6::text[], $7::integer[], $10::bigint[]) AS asked (o, b, q, r)
    WHERE available >= $8::bigint
      AND (NOT $13::boolean OR (SELECT true FROM deductions WHERE sku_id = $1 AND order_id = o) IS NULL)
), counted AS (
    INSERT INTO buyers AS n (sku_id, buyer_id, units, most)
    SELECT $1, b, q, $12::bigint FROM fresh WHERE q <= $12
    ORDER BY b COLLATE "C"
    ON CONFLICT (sku_id, buyer_id) DO UPDATE SET units = n.units + excluded.units
        WHERE n.units + excluded.units <= excluded.most
    RETURNING buyer_id
), inserted AS (
    INSERT INTO deductions (sku_id, order_id, buyer_id, quantity, segment, status, expires_at, created_at)
    SELECT $1, o, nullif(b, ''), q, $2, CASE WHEN r > 0 THEN 'reserved' ELSE 'committed' END,
           $9::timestamptz + nullif(r, 0) * interval '1 microsecond', $9
    FROM fresh
    WHERE (b IN (SELECT buyer_id FROM counted)) IS TRUE
    ORDER BY o COLLATE "C"
    ON CONFLICT (sku_id, order_id) DO NOTHING
    RETURNING order_id, quantity
), taken AS (
    SELECT count(*) AS orders, coalesce(sum(quantity), 0) AS units, (SELECT count(*) FROM counted) AS buyers FROM inserted
), updated AS (
    UPDATE stock_segments
    SET available   = available - taken.units / CASE WHEN taken.orders = taken.buyers THEN 1 ELSE 0 END,
        version     = version + 1,
        fence       = CASE WHEN $3 = 0 THEN fence ELSE $3 END,
        fence_owner = CASE WHEN $3 = 0 THEN fence_owner ELSE $4 END
    FROM taken
    WHERE sku_id = $1 AND segment = $2 AND taken.buyers > 0
    RETURNING available
)
SELECT (SELECT available FROM segment_row),
       taken.orders,
       (SELECT available FROM updated),
       CASE WHEN taken.orders BETWEEN 1 AND cardinality($5::text[]) - 1
            THEN (SELECT array_agg(order_id) FROM inserted) END,
       CASE WHEN taken.orders < cardinality($5::text[])
            THEN (SELECT array_agg(o) FROM fresh
                  WHERE q > $12 OR (
                      SELECT n.units + q > $12 FROM buyers n WHERE n.sku_id = $1 AND n.buyer_id = b)) END,
       taken.orders < cardinality($5::text[]) AND coalesce((
           SELECT expires_at <= $9 FROM deductions WHERE sku_id = $1 AND status = 'reserved'
           ORDER BY expires_at LIMIT 1), false)
FROM taken
