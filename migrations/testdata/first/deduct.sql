-- Take a batch of orders from one segment: all of them, or none.
--
-- In:  $1 sku_id, $2 segment, $3 fencing token (0: no lock), $4 its owner,
--      $5 order ids, $6 buyer ids ('' for none), $7 quantities, $8 their sum, $9 time
-- Out: one row: what the segment held (null: no row under this fence), how many orders were inserted, what it
--      holds now (null: unchanged), and if some order ids existed before, the ids that were inserted.
--
-- The row of the segment is locked before anything is inserted, and everything is inserted from that row, so a
-- stale token inserts nothing. Order ids go in ascending: two batches never wait for each other in a circle.
WITH segment_row AS MATERIALIZED (
    SELECT available
    FROM stock_segments
    WHERE sku_id = $1 AND segment = $2
      AND ($3::bigint = 0 OR fence < $3 OR (fence = $3 AND fence_owner = $4))
    FOR UPDATE
), inserted AS (
    INSERT INTO deductions (sku_id, order_id, buyer_id, quantity, segment, status, created_at)
    SELECT $1, o, nullif(b, ''), q, $2, 'committed', $9
    FROM segment_row, unnest($5::text[], $6::text[], $7::integer[]) AS asked (o, b, q)
    WHERE available >= $8::bigint
    ORDER BY o COLLATE "C"
    ON CONFLICT (sku_id, order_id) DO NOTHING
    RETURNING order_id, quantity
), taken AS (
    SELECT count(*) AS orders, coalesce(sum(quantity), 0) AS units FROM inserted
), updated AS (
    UPDATE stock_segments
    SET available   = available - taken.units,
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
            THEN (SELECT array_agg(order_id) FROM inserted) END
FROM taken
