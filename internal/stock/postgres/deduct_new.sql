-- deduct.sql for orders that are all expected to be new: without its ON CONFLICT, so it fails if one is known. To look for a
-- conflict before each insert costs a quarter of what a row costs.
--
-- In and out: as deduct.sql
WITH locked AS MATERIALIZED (
    SELECT available
    FROM stock_segments
    WHERE sku_id = $1 AND segment = $2 AND layout = $10
      AND ($3::bigint = 0 OR fence < $3 OR (fence = $3 AND fence_owner = $4))
    FOR UPDATE
), segment_row AS MATERIALIZED (
    SELECT available, $2::integer AS s,
           CASE WHEN set_config('lock_timeout', '100ms', true) <> '' THEN coalesce($9::timestamptz, clock_timestamp()) END AS at
    FROM locked
), inserted AS (
    INSERT INTO deductions (sku_id, order_id, quantity, segment, status, expires_at, created_at, buyer_id)
    SELECT $1, o, q, s, CASE WHEN r > 0 THEN 'reserved' ELSE 'committed' END,
           at + nullif(r, 0) * interval '1 microsecond', at, nullif(buyer_id, '')
    FROM segment_row, unnest($5::text[], $6::integer[], $7::bigint[], $14::text[]) AS asked (o, q, r, buyer_id)
    WHERE available >= $8::bigint
      AND ($12::timestamptz IS NULL OR at >= $12) AND ($13::timestamptz IS NULL OR at < $13)
    ORDER BY o COLLATE "C"
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
