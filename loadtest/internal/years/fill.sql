-- The rows of a shop after years, of about so many orders.
--
-- In: $1 orders, $2 seed. Each statement is carried out by itself, with both.
--
-- SKU sku-1 has a tenth of the orders, and sku-2 a tenth as many movements; the others have about a hundred orders each. Every second SKU
-- has three reservations that expire in a day. A tenth of the orders are lines of baskets of three. Ids come in no order.

-- name: deductions
INSERT INTO deductions (sku_id, order_id, buyer_id, quantity, segment, status, created_at, expires_at)
SELECT 'sku-' || CASE WHEN n % 10 = 0 THEN 1 ELSE 3 + n % ($1::bigint / 100 + 1) END, md5($2::bigint || '-' || n), 'buyer-' || n % 100000, 1, 0,
       'committed', now() - interval '1 year' + n * interval '1 ms', NULL
FROM generate_series(1, $1) AS n;

-- name: reservations
INSERT INTO deductions (sku_id, order_id, quantity, segment, status, created_at, expires_at)
SELECT 'sku-' || 3 + 2 * k, md5($2::bigint || '-reserved-' || k || '-' || n), 1, 0, 'reserved', now(), now() + interval '1 day' + k * interval '1 ms'
FROM generate_series(0, $1::bigint / 200) AS k, generate_series(1, 3) AS n;

-- name: skus
INSERT INTO skus (sku_id, name, initial, segments, created_at, moved, moved_until)
SELECT sku_id, '', least(1000 + coalesce(taken, 0), 1000000000), CASE sku_id WHEN 'sku-1' THEN 10 ELSE 1 END, now() - interval '1 year', 0, NULL
FROM (SELECT 'sku-' || n AS sku_id FROM generate_series(1, $1::bigint / 100 + 3) AS n) AS all_skus
LEFT JOIN (SELECT sku_id, sum(quantity) AS taken FROM deductions WHERE $2::bigint > 0 GROUP BY sku_id) AS sold USING (sku_id);

-- name: segments
INSERT INTO stock_segments (sku_id, segment, available, reserved)
SELECT sku_id, s, 1000 / segments, CASE s WHEN 0 THEN coalesce(live, 0) ELSE 0 END
FROM skus CROSS JOIN LATERAL generate_series(0, segments - 1) AS s
LEFT JOIN (SELECT sku_id, sum(quantity) AS live FROM deductions WHERE status = 'reserved' AND $1::bigint + $2::bigint > 0 GROUP BY sku_id) AS l
    USING (sku_id);

-- name: movements
INSERT INTO movements (sku_id, ref, kind, quantity, reason, created_at)
SELECT 'sku-2', md5($2::bigint || '-' || n), CASE n % 2 WHEN 0 THEN 'restock' ELSE 'adjust' END, CASE n % 2 WHEN 0 THEN 1 ELSE -1 END, '',
       now() - interval '1 year' + n * interval '1 ms'
FROM generate_series(1, 2 * ($1::bigint / 20)) AS n;

-- name: ledger
UPDATE skus SET moved_until = (SELECT max(created_at) FROM movements WHERE sku_id = 'sku-2') WHERE sku_id = 'sku-2' AND $1::bigint + $2::bigint > 0;

-- name: orders
INSERT INTO orders (order_id, created_at)
SELECT md5($2::bigint || '-' || n), now() - interval '1 year' FROM generate_series(1, $1::bigint / 10) AS n WHERE n % 10 > 0;

-- name: lines
INSERT INTO order_lines (order_id, sku_id, quantity)
SELECT order_id, sku_id, quantity FROM orders JOIN deductions USING (order_id) WHERE $1::bigint + $2::bigint > 0;

-- name: marks
UPDATE deductions SET in_order = true WHERE order_id IN (SELECT order_id FROM orders) AND $1::bigint + $2::bigint > 0;

-- name: outbox
INSERT INTO outbox (sku_id, order_id, quantity, status, at)
SELECT sku_id, order_id, quantity, status, now() FROM deductions WHERE $2::bigint > 0 LIMIT $1::bigint / 5;
