-- Orders of several SKUs.

-- name: insert_order
-- In: @order_id, @buyer_id ('': none), @reserve_micros for how many microseconds it is reserved, @at the instant
--
-- It skips an order that is there already.
INSERT INTO orders (order_id, buyer_id, reserve_micros, created_at)
VALUES (@order_id, nullif(@buyer_id, ''), @reserve_micros, @at)
ON CONFLICT (order_id) DO NOTHING;

-- name: insert_lines
-- In: @order_id; arrays: @sku_ids, @quantities
--
-- An order that is there already has its lines, or they were pruned.
INSERT INTO order_lines (order_id, sku_id, quantity)
SELECT o.order_id, line.sku_id, line.quantity
FROM orders o, (SELECT value AS sku_id, @quantities ->> key AS quantity FROM json_each(@sku_ids) LIMIT -1) AS line
WHERE o.order_id = @order_id AND NOT o.pruned AND NOT EXISTS (SELECT 1 FROM order_lines there WHERE there.order_id = @order_id);

-- name: order
-- In:  @order_id
-- Out: buyer_id ('': none), the buyer for whom it was ordered, for how many microseconds it is reserved, whether its lines were pruned
SELECT coalesce(buyer_id, ''), coalesce(ordered_by, buyer_id, ''), reserve_micros, pruned FROM orders WHERE order_id = @order_id;

-- name: placed_order
-- In:  @order_id
-- Out: the columns of "order", those of the deduction of each line, after how many changes it is so, whether it is a line no more, and
--      null; ascending by SKU; without lines one row of which sku_id is ''
SELECT coalesce(o.buyer_id, ''), coalesce(o.ordered_by, o.buyer_id, ''), o.reserve_micros, o.pruned, coalesce(d.sku_id, ''), o.order_id, coalesce(d.quantity, 0),
       coalesce(d.asked, d.quantity, 0), coalesce(d.status, ''), coalesce(d.created_at, o.created_at), d.committed_at, d.expires_at, d.reserve_micros,
       coalesce(d.committed, 0), coalesce(d.buyer_id, ''), coalesce(d.revision, 0), coalesce(d.removed, false), NULL
FROM orders o LEFT JOIN order_lines l ON l.order_id = o.order_id LEFT JOIN deductions d ON d.sku_id = l.sku_id AND d.order_id = l.order_id
WHERE o.order_id = @order_id ORDER BY l.sku_id;
