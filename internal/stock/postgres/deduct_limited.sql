-- Take a batch of orders from one segment of a SKU that has a buyer limit: all that are new and within it, or none.
--
-- In:  $1 to $13 as in deduct.sql, $14 the limit, $15 until when no reservation is live (null: not known), $16 the count of its buyers:
--      the SKU, or that of its group; arrays of the texts of orders: $17 buyer_ids, no buyer twice
-- Out: as in deduct.sql, and if some orders were not inserted: the ids of those that are not known, but whose buyers hold
--      too much (null: there are none), and whether reservations of the SKU have expired whose units are not back.
--
-- A buyer is counted before the order is inserted: the statement waits for a buyer's row that another batch writes, and
-- then sees it. Buyers and order ids are written in ascending order. Known order
-- ids are looked up first. If another batch was faster with one, its buyer would be counted twice: then the statement fails by
-- inventory_require, so that nothing of it is written, as where deduct.sql does.
--
-- The clock is read once the buyers are counted, because that may wait for their rows. An insert waits for an order id as in
-- deduct.sql.
--
-- Scalar sub-selects look up what each order needs, because they use the index. For a join, a planner that knows old sizes
-- of growing tables would read all rows of the SKU, or compare each order with each buyer.
WITH bounded AS MATERIALIZED (
    SELECT set_config('lock_timeout', '50ms', true)
), segment_row AS MATERIALIZED (
    SELECT available
    FROM bounded, stock_segments
    WHERE sku_id = $1 AND segment = $2 AND layout = $10
      AND ($3::bigint = 0 OR fence < $3 OR (fence = $3 AND fence_owner = $4))
    FOR UPDATE OF stock_segments
), fresh AS MATERIALIZED (
    SELECT o, q, r, buyer_id
    FROM segment_row, unnest($5::text[], $6::integer[], $7::bigint[], $17::text[]) AS asked (o, q, r, buyer_id)
    WHERE available >= $8::bigint
      AND (SELECT true FROM deductions WHERE sku_id = $1 AND order_id = o) IS NULL
), counted AS (
    INSERT INTO buyers AS n (sku_id, buyer_id, units, most)
    SELECT $16, buyer_id, q, $14::bigint FROM fresh WHERE q <= $14
    ORDER BY buyer_id COLLATE "C"
    ON CONFLICT (sku_id, buyer_id) DO UPDATE SET units = n.units + excluded.units, most = excluded.most
        WHERE n.units + excluded.units <= excluded.most
    RETURNING buyer_id
), decided AS MATERIALIZED (
    SELECT $2::integer AS s, CASE WHEN buyers >= 0 AND held >= 0
                                  THEN coalesce($9::timestamptz, clock_timestamp()) END AS at
    FROM (SELECT (SELECT count(*) FROM counted) AS buyers, (SELECT available FROM segment_row) AS held) AS locked
), inserted AS (
    INSERT INTO deductions (sku_id, order_id, quantity, segment, status, expires_at, created_at, limited, counted_at, buyer_id)
    SELECT $1, o, q, s, CASE WHEN r > 0 THEN 'reserved' ELSE 'committed' END,
           at + nullif(r, 0) * interval '1 microsecond', at, true, nullif($16, $1), nullif(buyer_id, '')
    FROM decided, fresh
    WHERE (buyer_id IN (SELECT buyer_id FROM counted)) IS TRUE
      AND ($12::timestamptz IS NULL OR at >= $12) AND ($13::timestamptz IS NULL OR at < $13)
    ORDER BY o COLLATE "C"
    ON CONFLICT (sku_id, order_id) DO NOTHING
    RETURNING order_id, quantity, status
), taken AS (
    SELECT count(*) AS orders, coalesce(sum(quantity), 0) AS units,
           coalesce(sum(quantity) FILTER (WHERE status = 'reserved'), 0) AS reserved,
           (SELECT count(*) FROM counted) AS buyers
    FROM inserted
), updated AS (
    UPDATE stock_segments g
    SET available   = available - inventory_require(
                          taken.orders = taken.buyers AND ($11::timestamptz IS NULL OR clock_timestamp() <= $11)
                          AND ($13 IS NULL OR coalesce($9, clock_timestamp()) < $13),
                          taken.units),
        reserved    = g.reserved + taken.reserved,
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
                  WHERE q > $14 OR (
                      SELECT n.units + q > $14 FROM buyers n WHERE n.sku_id = $16 AND n.buyer_id = fresh.buyer_id)) END,
       taken.orders < cardinality($5::text[]) AND EXISTS (
           SELECT 1 FROM deductions WHERE sku_id = $1 AND status = 'reserved' AND expires_at > coalesce($15::timestamptz, '-infinity')
             AND expires_at <= (SELECT at FROM decided))
FROM taken
