-- Take a batch of orders from one segment of a SKU that has a buyer limit: all that are new and within it, or none.
--
-- In:  $1 to $14 as in deduct.sql, $15 the limit, $16 whether order ids that are there already are looked for first; no
--      buyer occurs twice
-- Out: as in deduct.sql, and if some orders were not inserted: those that are not known to be there, but whose buyers hold
--      too much for them (null: there are none), and whether reservations of the SKU have expired whose units are not back.
--
-- A buyer is counted before the order is inserted: a row that another batch has written meanwhile is waited for and seen.
-- Buyers and order ids go in ascending. Where an order id is there that was not looked for, or another batch was faster with
-- it, its buyer is counted twice: then the statement divides by zero, so that nothing of it is written. It does so too where
-- it comes to its end after the deadline or the end of the sale.
--
-- The clock is read once the buyers are counted: until then it may wait for them.
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
      AND (NOT $16::boolean OR (SELECT true FROM deductions WHERE sku_id = $1 AND order_id = o) IS NULL)
), counted AS (
    INSERT INTO buyers AS n (sku_id, buyer_id, units, most)
    SELECT $1, b, q, $15::bigint FROM fresh WHERE q <= $15
    ORDER BY b COLLATE "C"
    ON CONFLICT (sku_id, buyer_id) DO UPDATE SET units = n.units + excluded.units
        WHERE n.units + excluded.units <= excluded.most
    RETURNING buyer_id
), decided AS MATERIALIZED (
    SELECT CASE WHEN buyers >= 0 AND held >= 0 THEN coalesce($9::timestamptz, clock_timestamp()) END AS at
    FROM (SELECT (SELECT count(*) FROM counted) AS buyers, (SELECT available FROM segment_row) AS held) AS locked
), inserted AS (
    INSERT INTO deductions (sku_id, order_id, buyer_id, quantity, segment, status, expires_at, created_at)
    SELECT $1, o, nullif(b, ''), q, $2, CASE WHEN r > 0 THEN 'reserved' ELSE 'committed' END,
           at + nullif(r, 0) * interval '1 microsecond', at
    FROM decided, fresh
    WHERE (b IN (SELECT buyer_id FROM counted)) IS TRUE
      AND ($13::timestamptz IS NULL OR at >= $13) AND ($14::timestamptz IS NULL OR at < $14)
    ORDER BY o COLLATE "C"
    ON CONFLICT (sku_id, order_id) DO NOTHING
    RETURNING order_id, quantity, status
), taken AS (
    SELECT count(*) AS orders, coalesce(sum(quantity), 0) AS units,
           coalesce(sum(quantity) FILTER (WHERE status = 'reserved'), 0) AS reserved,
           (SELECT count(*) FROM counted) AS buyers
    FROM inserted
), updated AS (
    UPDATE stock_segments
    SET available   = available - taken.units
                      / CASE WHEN taken.orders = taken.buyers AND ($12::timestamptz IS NULL OR clock_timestamp() <= $12)
                             THEN 1 ELSE 0 END,
        reserved    = stock_segments.reserved + taken.reserved,
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
       (SELECT at FROM decided),
       CASE WHEN taken.orders < cardinality($5::text[])
            THEN (SELECT array_agg(o) FROM fresh
                  WHERE q > $15 OR (
                      SELECT n.units + q > $15 FROM buyers n WHERE n.sku_id = $1 AND n.buyer_id = b)) END,
       taken.orders < cardinality($5::text[]) AND coalesce((
           SELECT expires_at <= (SELECT at FROM decided) FROM deductions WHERE sku_id = $1 AND status = 'reserved'
           ORDER BY expires_at LIMIT 1), false)
FROM taken
