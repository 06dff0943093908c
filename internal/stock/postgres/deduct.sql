-- Take a batch of orders from one segment: all of them, or none. For SKUs without a buyer limit; see deduct_limited.sql.
--
-- In:  $1 sku_id, $2 segment, $3 fencing token (0: no lock), $4 its owner,
--      $5 order ids, $6 buyer ids ('' for none), $7 quantities, $8 their sum, $9 the instant of the decision (null: now),
--      $10 for how many microseconds each is reserved (0, or null for the array: committed at once), $11 layout,
--      $12 the deadline, $13 and $14 the beginning and the end of the sale (each null: none)
-- Out: one row: what the segment held (null: no row of this layout under this fence), how many orders were inserted,
--      what it holds now (null: unchanged), if some orders were not inserted, the ids that were, and the instant of the
--      decision. It divides by zero where it comes to its end after the deadline.
--
-- The row of the segment is locked before anything is inserted, and everything is inserted from that row, so a
-- stale token inserts nothing. Order ids go in ascending: two batches never wait for each other in a circle.
--
-- The clock is read from the locked row, so after the wait for it; and once more at the end, because an insert waits for
-- another one of the same order id.
WITH locked AS MATERIALIZED (
    SELECT available
    FROM stock_segments
    WHERE sku_id = $1 AND segment = $2 AND layout = $11
      AND ($3::bigint = 0 OR fence < $3 OR (fence = $3 AND fence_owner = $4))
    FOR UPDATE
), segment_row AS MATERIALIZED (
    SELECT available, coalesce($9::timestamptz, clock_timestamp()) AS at FROM locked
), inserted AS (
    INSERT INTO deductions (sku_id, order_id, buyer_id, quantity, segment, status, expires_at, created_at)
    SELECT $1, o, nullif(b, ''), q, $2, CASE WHEN r > 0 THEN 'reserved' ELSE 'committed' END,
           at + nullif(r, 0) * interval '1 microsecond', at
    FROM segment_row, unnest($5::text[], $6::text[], $7::integer[], $10::bigint[]) AS asked (o, b, q, r)
    WHERE available >= $8::bigint
      AND ($13::timestamptz IS NULL OR at >= $13) AND ($14::timestamptz IS NULL OR at < $14)
    ORDER BY o COLLATE "C"
    ON CONFLICT (sku_id, order_id) DO NOTHING
    RETURNING order_id, quantity, status
), taken AS (
    SELECT count(*) AS orders, coalesce(sum(quantity), 0) AS units,
           coalesce(sum(quantity) FILTER (WHERE status = 'reserved'), 0) AS reserved
    FROM inserted
), updated AS (
    UPDATE stock_segments
    SET available   = available - taken.units
                      / CASE WHEN $12::timestamptz IS NULL OR clock_timestamp() <= $12 THEN 1 ELSE 0 END,
        reserved    = stock_segments.reserved + taken.reserved,
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
