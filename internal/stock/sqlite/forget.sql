-- Forget a buyer: a step goes through a bounded number of rows.

-- name: forgotten
-- Out: the name of each buyer who is forgotten, whether that is done
SELECT name, done FROM forgotten;

-- name: lock_forgotten
-- A transaction that writes has the file to itself.
SELECT 1;

-- name: note_forget_key
-- In: $1 the name of '' under the key. It is the first row.
INSERT INTO forgotten (name, done) SELECT $1, true WHERE NOT EXISTS (SELECT 1 FROM forgotten) ON CONFLICT (name) DO NOTHING;

-- name: forget_key_is
-- In:  $1 the name of '' under the key
-- Out: whether it is this key
SELECT EXISTS (SELECT 1 FROM forgotten WHERE name = $1 AND done);

-- name: note_forgotten
-- In: $1 the name, $2 whether it is done
INSERT INTO forgotten (name, done) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET done = excluded.done;

-- name: orders_end
-- In:  $1 the order_id before the page, $2 how many rows may be read, less 1
-- Out: the last of them; none if fewer are left
SELECT order_id FROM orders WHERE order_id > $1 ORDER BY order_id LIMIT 1 OFFSET $2;

-- name: orders_to_forget
-- In:  $1 the order_id before the page, $2 its last order_id, $3 buyer_id, $4 the first and $5 the order_id behind the buyer's own ones, $6 how many,
--      $7 what orders that were pruned have in place of the buyer_id
-- Out: the order_ids of orders that have the buyer
SELECT o.order_id FROM orders o
WHERE o.order_id > $1 AND o.order_id <= $2
  AND (o.buyer_id IN ($3, $7) OR o.ordered_by = $3 OR (o.order_id >= $4 AND o.order_id < $5)
       OR coalesce((SELECT true FROM order_changes c WHERE c.order_id = o.order_id AND c.buyer_id = $3 LIMIT 1), false))
ORDER BY o.order_id LIMIT $6;

-- name: lines_to_forget
-- In:  $1 order_id
-- Out: the SKUs of its lines
SELECT sku_id FROM order_lines WHERE order_id = $1;

-- name: forget_in_order
-- In: $1 order_id, $2 the new one, $3 buyer_id, $4 the new one, $5 what orders that were pruned have in place of the buyer_id
UPDATE orders SET order_id = $2, buyer_id = CASE WHEN buyer_id IN ($3, $5) THEN $4 ELSE buyer_id END,
                  ordered_by = CASE WHEN ordered_by = $3 THEN $4 ELSE ordered_by END
WHERE order_id = $1;

-- name: forget_in_changes
-- In: $1 to $4 as in forget_in_order
UPDATE order_changes SET order_id = $2, buyer_id = CASE WHEN buyer_id = $3 THEN $4 ELSE buyer_id END WHERE order_id = $1;

-- name: rename_lines
-- In: $1 order_id, $2 the new one
UPDATE order_lines SET order_id = $2 WHERE order_id = $1;

-- name: own_to_forget
-- In:  $1 sku_id, $2 what the buyer's own order_ids begin with, $3 the first text behind them, $4 how many
-- Out: order_ids
SELECT order_id FROM deductions WHERE sku_id = $1 AND order_id > $2 AND order_id < $3 ORDER BY order_id LIMIT $4;

-- name: to_forget
-- In:  $1 sku_id, $2 the order_id before the page, $3 its last order_id, $4 buyer_id, $5 how many
-- Out: order_ids
SELECT order_id FROM deductions
WHERE sku_id = $1 AND order_id > $2 AND order_id <= $3 AND buyer_id = $4 ORDER BY order_id LIMIT $5;

-- name: touch_segments
-- In: $1 sku_id
UPDATE stock_segments SET version = version + 1 WHERE sku_id = $1 AND segment = 0;

-- name: count_anew
-- In: $1 sku_id. Keys that change may pass from behind the page to before it.
UPDATE skus SET counted_until = '' WHERE sku_id = $1 AND counting;

-- name: forget_page
-- In: $1 sku_id, $2 the first and $3 the order_id behind the buyer's own ones
UPDATE skus SET counted_until = '' WHERE sku_id = $1 AND counting AND counted_until >= $2 AND counted_until < $3;

-- name: forget_in_ledger
-- In: $1 sku_id, $2 the first and $3 the ref behind those of write-offs of the buyer's own orders, $4 buyer_id, $5 the new one
UPDATE movements SET ref = CAST($5 AS text) || substr(ref, length($4) + 1) WHERE sku_id = $1 AND ref >= $2 AND ref < $3;

-- name: forget_counts
-- In: $1 and $2 the first and the last count, $3 buyer_id
DELETE FROM buyers WHERE sku_id >= $1 AND sku_id <= $2 AND buyer_id = $3 AND units = 0;

-- name: forget_in_deduction
-- In: $1 sku_id, $2 order_id, $3 the new one, $4 buyer_id, $5 the new one
UPDATE deductions SET order_id = $3, buyer_id = CASE WHEN buyer_id = $4 THEN $5 ELSE buyer_id END WHERE sku_id = $1 AND order_id = $2;

-- name: defer_references
-- Until the end of the transaction.
PRAGMA defer_foreign_keys = ON;

-- name: rename_parts
-- In: $1 sku_id, $2 order_id, $3 the new one
UPDATE deduction_parts SET order_id = $3 WHERE sku_id = $1 AND order_id = $2;

-- name: rename_amendments
-- In: $1 sku_id, $2 order_id, $3 the new one
UPDATE amendments SET order_id = $3 WHERE sku_id = $1 AND order_id = $2;

-- name: rename_additions
-- In: $1 sku_id, $2 order_id, $3 the new one
UPDATE additions SET order_id = $3 WHERE sku_id = $1 AND order_id = $2;

-- name: outbox_end
-- In:  $1 the cursor before the page ('': before all), $2 how many rows may be read, less 1
-- Out: the cursor of the last of them; none if fewer are left
SELECT CAST(position AS TEXT) FROM outbox WHERE position > CAST($1 AS INTEGER) ORDER BY position LIMIT 1 OFFSET $2;

-- name: forget_in_outbox
-- In: $1 the cursor before the page ('': before all), $2 how many rows it has, $3 buyer_id, $4 the new one, $5 the first and $6 the order_id
--     behind the buyer's own ones
UPDATE outbox SET buyer_id = CASE WHEN buyer_id = $3 THEN $4 ELSE buyer_id END,
                  order_id = CASE WHEN order_id >= $5 AND order_id < $6 THEN CAST($4 AS text) || substr(order_id, length($3) + 1) ELSE order_id END
WHERE position IN (SELECT position FROM outbox WHERE position > CAST($1 AS INTEGER) ORDER BY position LIMIT $2)
  AND (buyer_id = $3 OR (order_id >= $5 AND order_id < $6));
