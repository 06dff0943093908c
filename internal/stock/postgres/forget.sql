-- Forget a buyer: a step goes through a bounded number of rows.

-- name: forgotten
-- Out: the name of each buyer who is forgotten, whether that is done
SELECT name, done FROM forgotten;

-- name: lock_forgotten
-- Of two keys that come at once, the second one finds the first. The number means nothing, but is another one than that of prune. A lock of
-- the table would deadlock: the insert, which is prepared first, has one already.
SELECT pg_advisory_xact_lock(7325064183);

-- name: note_forget_key
-- In: @name of '' under the key. It is the first row.
INSERT INTO forgotten (name, done) SELECT @name, true WHERE NOT EXISTS (SELECT 1 FROM forgotten) ON CONFLICT (name) DO NOTHING;

-- name: forget_key_is
-- In:  @name of '' under the key
-- Out: whether it is this key
SELECT EXISTS (SELECT 1 FROM forgotten WHERE name = @name AND done);

-- name: note_forgotten
-- In: @name of the buyer who is forgotten, @done whether that is done
INSERT INTO forgotten (name, done) VALUES (@name, @done) ON CONFLICT (name) DO UPDATE SET done = excluded.done;

-- name: orders_end
-- In:  @after the order_id before the page, @offset how many rows may be read, less 1
-- Out: the last of them; none if fewer are left
SELECT order_id FROM orders WHERE order_id > @after ORDER BY order_id LIMIT 1 OFFSET (SELECT CAST(@offset AS bigint));

-- name: orders_to_forget
-- In:  @after the order_id before the page, @last its last order_id, @buyer_id, @own_first what the buyer's own order_ids begin with,
--      @own_behind the first text behind them, @limit how many, @pruned_buyer_id what orders that were pruned have in place of the buyer_id
-- Out: the order_ids of orders that have the buyer
SELECT o.order_id FROM orders o
WHERE o.order_id > @after AND o.order_id <= @last
  AND (o.buyer_id IN (@buyer_id, @pruned_buyer_id) OR o.ordered_by = @buyer_id OR (o.order_id >= @own_first AND o.order_id < @own_behind)
       OR coalesce((SELECT true FROM order_changes c WHERE c.order_id = o.order_id AND c.buyer_id = @buyer_id LIMIT 1), false))
ORDER BY o.order_id LIMIT @limit;

-- name: lines_to_forget
-- In:  @order_id
-- Out: the SKUs of its lines
SELECT sku_id FROM order_lines WHERE order_id = @order_id;

-- name: forget_in_order
-- In: @order_id, @new_order_id, @buyer_id, @new_buyer_id, @pruned_buyer_id what orders that were pruned have in place of the buyer_id
UPDATE orders SET order_id = @new_order_id, buyer_id = CASE WHEN buyer_id IN (@buyer_id, @pruned_buyer_id) THEN @new_buyer_id ELSE buyer_id END,
                  ordered_by = CASE WHEN ordered_by = @buyer_id THEN @new_buyer_id ELSE ordered_by END
WHERE order_id = @order_id;

-- name: forget_in_changes
-- In: @order_id, @new_order_id, @buyer_id, @new_buyer_id
UPDATE order_changes SET order_id = @new_order_id, buyer_id = CASE WHEN buyer_id = @buyer_id THEN @new_buyer_id ELSE buyer_id END
WHERE order_id = @order_id;

-- name: rename_lines
-- In: @order_id, @new_order_id
UPDATE order_lines SET order_id = @new_order_id WHERE order_id = @order_id;

-- name: own_to_forget
-- In:  @sku_id, @own_first what the buyer's own order_ids begin with, @own_behind the first text behind them, @limit how many
-- Out: order_ids
SELECT order_id FROM deductions WHERE sku_id = @sku_id AND order_id > @own_first AND order_id < @own_behind ORDER BY order_id LIMIT @limit;

-- name: to_forget
-- In:  @sku_id, @after the order_id before the page, @last its last order_id, @buyer_id, @limit how many
-- Out: order_ids
SELECT order_id FROM deductions
WHERE sku_id = @sku_id AND order_id > @after AND order_id <= @last AND buyer_id = @buyer_id ORDER BY order_id LIMIT @limit;

-- name: touch_segments
-- In: @sku_id
UPDATE stock_segments SET version = version + 1 WHERE sku_id = @sku_id AND segment = 0;

-- name: count_anew
-- In: @sku_id. Keys that change may pass from behind the page to before it.
UPDATE skus SET counted_until = '' WHERE sku_id = @sku_id AND counting;

-- name: forget_page
-- In: @sku_id, @own_first what the buyer's own order_ids begin with, @own_behind the first text behind them
UPDATE skus SET counted_until = '' WHERE sku_id = @sku_id AND counting AND counted_until >= @own_first AND counted_until < @own_behind;

-- name: forget_in_ledger
-- In: @sku_id, @first and @behind the first ref that write-offs of the buyer's own orders may have, and the first behind those; @buyer_id,
--     @key_name what takes the place of the buyer_id in the keys of these orders
UPDATE movements SET ref = CAST(@key_name AS text) || substr(ref, length(@buyer_id) + 1) WHERE sku_id = @sku_id AND ref >= @first AND ref < @behind;

-- name: forget_counts
-- In: @first and @last count, @buyer_id
DELETE FROM buyers WHERE sku_id >= @first AND sku_id <= @last AND buyer_id = @buyer_id AND units = 0;

-- name: forget_in_deduction
-- In: @sku_id, @order_id, @new_order_id, @buyer_id, @new_buyer_id
--
-- Its parts and amendments refer to it: that is checked at the end of the statement.
WITH parts AS (
    UPDATE deduction_parts SET order_id = @new_order_id WHERE sku_id = @sku_id AND order_id = @order_id AND @new_order_id <> @order_id
), amended AS (
    UPDATE amendments SET order_id = @new_order_id WHERE sku_id = @sku_id AND order_id = @order_id AND @new_order_id <> @order_id
), added AS (
    UPDATE additions SET order_id = @new_order_id WHERE sku_id = @sku_id AND order_id = @order_id AND @new_order_id <> @order_id
)
UPDATE deductions SET order_id = @new_order_id, buyer_id = CASE WHEN buyer_id = @buyer_id THEN @new_buyer_id ELSE buyer_id END
WHERE sku_id = @sku_id AND order_id = @order_id;

-- name: outbox_end
-- In:  @after the cursor before the page ('': before all), @offset how many rows may be read, less 1
-- Out: the cursor of the last of them; none if fewer are left
SELECT xid::text || '.' || position FROM outbox
WHERE (xid, position) > (split_part(coalesce(nullif(@after, ''), '0.0'), '.', 1)::xid8,
                         split_part(coalesce(nullif(@after, ''), '0.0'), '.', 2)::bigint)
ORDER BY xid, position LIMIT 1 OFFSET (SELECT CAST(@offset AS bigint));

-- name: forget_in_outbox
-- In: @after the cursor before the page ('': before all), @limit how many rows it has, @buyer_id, @new_buyer_id, @own_first what the
--     buyer's own order_ids begin with, @own_behind the first text behind them
UPDATE outbox SET buyer_id = CASE WHEN buyer_id = @buyer_id THEN @new_buyer_id ELSE buyer_id END,
                  order_id = CASE WHEN order_id >= @own_first AND order_id < @own_behind
                                  THEN CAST(@new_buyer_id AS text) || substr(order_id, length(@buyer_id) + 1) ELSE order_id END
WHERE (xid, position) IN (
    SELECT xid, position FROM outbox
    WHERE (xid, position) > (split_part(coalesce(nullif(@after, ''), '0.0'), '.', 1)::xid8,
                             split_part(coalesce(nullif(@after, ''), '0.0'), '.', 2)::bigint)
    ORDER BY xid, position LIMIT @limit)
  AND (buyer_id = @buyer_id OR (order_id >= @own_first AND order_id < @own_behind));
