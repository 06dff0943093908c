-- Orders of several SKUs.

-- name: insert_order
-- In: @order_id, @buyer_id ('': none), @reserve_micros for how many microseconds it is reserved, @at the instant (null: now)
--
-- It waits for a copy of the order that is under way, and then writes nothing.
INSERT INTO orders (order_id, buyer_id, reserve_micros, created_at)
VALUES (@order_id, nullif(@buyer_id, ''), @reserve_micros, coalesce(@at::timestamptz, clock_timestamp()))
ON CONFLICT (order_id) DO NOTHING;

-- name: insert_lines :patient
-- In: @order_id; arrays: @sku_ids, @quantities
--
-- An order that is there already has its lines, or they were pruned. The message with this statement also waits for the rows of
-- all lines.
INSERT INTO order_lines (order_id, sku_id, quantity)
SELECT o.order_id, line.sku_id, line.quantity
FROM orders o, unnest(@sku_ids::text[], @quantities::integer[]) AS line (sku_id, quantity)
WHERE o.order_id = @order_id AND NOT o.pruned AND NOT EXISTS (SELECT 1 FROM order_lines there WHERE there.order_id = @order_id);

-- name: order
-- In:  @order_id
-- Out: buyer_id ('': none), the buyer for whom it was ordered, for how many microseconds it is reserved, whether its lines were pruned
SELECT coalesce(buyer_id, ''), coalesce(ordered_by, buyer_id, ''), reserve_micros, pruned FROM orders WHERE order_id = @order_id;

-- name: placed_order
-- In:  @order_id
-- Out: the columns of "order", those of the deduction of each line, after how many changes it is so, whether it is a line no more, and
--      what each segment gave, as JSON (null: one is left of several); ascending by SKU; without lines one row of which sku_id is ''
SELECT coalesce(o.buyer_id, ''), coalesce(o.ordered_by, o.buyer_id, ''), o.reserve_micros, o.pruned, coalesce(d.sku_id, ''), o.order_id, coalesce(d.quantity, 0),
       coalesce(d.asked, d.quantity, 0), coalesce(d.status, ''), coalesce(d.created_at, o.created_at), d.committed_at, d.expires_at, d.reserve_micros,
       coalesce(d.committed, 0), coalesce(d.buyer_id, ''), coalesce(d.revision, 0), coalesce(d.removed, false),
       CASE WHEN d.segment IS NOT NULL THEN format('[{"segment":%s,"quantity":%s}]', d.segment, d.quantity) ELSE (
           SELECT json_agg(json_build_object('segment', p.segment, 'quantity', p.quantity) ORDER BY p.segment)::text
           FROM deduction_parts p WHERE p.sku_id = d.sku_id AND p.order_id = d.order_id HAVING count(*) > 1
       ) END
FROM orders o LEFT JOIN order_lines l ON l.order_id = o.order_id LEFT JOIN deductions d ON d.sku_id = l.sku_id AND d.order_id = l.order_id
WHERE o.order_id = @order_id ORDER BY l.sku_id;
