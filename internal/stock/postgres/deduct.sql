-- Take a batch of orders from one segment: all that are new, or none. For SKUs without a buyer limit; see deduct_limited.sql. It is sent if
-- some orders are expected to be known; see deduct_new.sql.
--
-- In:  $1 sku_id, $2 segment, $3 fencing token (0: no lock), $4 its owner,
--      $5 order ids, $6 quantities, $7 for how many microseconds each is reserved (0, or null for the array: committed at
--      once), $8 the sum of the quantities, $9 the instant of the decision (null: now), $10 layout, $11 the deadline,
--      $12 and $13 the beginning and the end of the sale (each null: none)
--      arrays of the texts of orders ('': none): $14 buyer_ids
-- Out: one row: what the segment held (null: no row of this layout under this fence), how many orders were inserted,
--      what it holds now (null: unchanged), the ids that were inserted if some were not, and the instant of the decision.
--      It fails by inventory_require if it ends after the deadline or the end of the sale.
--
-- The row of the segment is locked first, and everything is inserted from that row. So a stale token inserts nothing. Order
-- ids are inserted in ascending order, so two batches never wait for each other in a circle.
--
-- The clock is read from the locked row, that is, after the wait for it. It is read again at the end, because an insert may
-- wait for another one of the same order id. It waits for 50 ms at most, so that no reservation is much shorter than was asked, and
-- that a row which is held for long delays few orders: a transaction, which makes up for its waits, decides then.
WITH bounded AS MATERIALIZED (
    SELECT set_config('lock_timeout', '50ms', true)
), locked AS MATERIALIZED (
    SELECT available
    FROM bounded, stock_segments
    WHERE sku_id = $1 AND segment = $2 AND layout = $10
      AND ($3::bigint = 0 OR fence < $3 OR (fence = $3 AND fence_owner = $4))
    FOR UPDATE OF stock_segments
), segment_row AS MATERIALIZED (
    SELECT available, $2::integer AS s, coalesce($9::timestamptz, clock_timestamp()) AS at
    FROM locked
), inserted AS (
    INSERT INTO deductions (sku_id, order_id, quantity, segment, status, expires_at, created_at, buyer_id)
    SELECT $1, o, q, s, CASE WHEN r > 0 THEN 'reserved' ELSE 'committed' END,
           at + nullif(r, 0) * interval '1 microsecond', at, nullif(buyer_id, '')
    FROM segment_row, unnest($5::text[], $6::integer[], $7::bigint[], $14::text[]) AS asked (o, q, r, buyer_id)
    WHERE available >= $8::bigint
      AND ($12::timestamptz IS NULL OR at >= $12) AND ($13::timestamptz IS NULL OR at < $13)
    ORDER BY o COLLATE "C"
    ON CONFLICT (sku_id, order_id) DO NOTHING
    RETURNING order_id, quantity, status
), taken AS (
    SELECT count(*) AS orders, coalesce(sum(quantity), 0) AS units,
           coalesce(sum(quantity) FILTER (WHERE status = 'reserved'), 0) AS reserved
    FROM inserted
), updated AS (
    UPDATE stock_segments g
    SET available   = available - inventory_require(
                          ($11::timestamptz IS NULL OR clock_timestamp() <= $11)
                          AND ($13 IS NULL OR coalesce($9, clock_timestamp()) < $13),
                          taken.units),
        reserved    = g.reserved + taken.reserved,
        version     = version + 1,
        fence       = CASE WHEN $3 = 0 THEN fence ELSE $3 END,
        fence_owner = CASE WHEN $3 = 0 THEN fence_owner ELSE $4 END
    FROM taken
    WHERE sku_id = $1 AND segment = $2 AND taken.orders > 0
    RETURNING available
)
SELECT (SELECT available FROM segment_row),
       taken.orders,
       (SELECT available FROM updated),
       CASE WHEN taken.orders BETWEEN 1 AND cardinality($5::text[]) - 1
            THEN (SELECT array_agg(order_id) FROM inserted) END,
       (SELECT at FROM segment_row)
FROM taken
