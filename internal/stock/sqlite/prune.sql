-- Fold deductions of an archived SKU into its sum. The outbox and the ledger stay as they are.

-- name: prunable
-- In:  @sku_id, @order_ids, @since the instant since which nothing may have happened
-- Out: of those that may be pruned: order_id, buyer_id ('': none), where the buyer is counted ('': nowhere), committed units
--
-- A deduction may be pruned if nothing has happened to it since then, and its SKU is archived; an order of several SKUs if each of
-- its remaining lines may be.
SELECT d.order_id, coalesce(d.buyer_id, ''), CASE WHEN d.limited THEN coalesce(d.counted_at, d.sku_id) ELSE '' END, CASE WHEN d.status = 'committed' THEN d.quantity ELSE 0 END
FROM (SELECT value AS id FROM json_each(@order_ids)) AS asked
CROSS JOIN deductions AS d ON sku_id = @sku_id AND order_id = asked.id
WHERE NOT EXISTS (
    SELECT 1 FROM (
        SELECT @sku_id AS sku
        UNION
        SELECT l.sku_id FROM order_lines l JOIN order_lines own USING (order_id) WHERE own.order_id = asked.id AND own.sku_id = @sku_id
    ) AS line
    WHERE NOT EXISTS (
        SELECT 1 FROM deductions d
        WHERE d.sku_id = line.sku AND d.order_id = asked.id
          AND d.status <> 'reserved' AND max(d.created_at, coalesce(d.expires_at, 0), coalesce(d.committed_at, 0), coalesce(d.ended_at, 0)) < @since
          AND EXISTS (SELECT 1 FROM skus k WHERE k.sku_id = line.sku AND k.archived_at IS NOT NULL)
          AND NOT EXISTS (SELECT 1 FROM amendments a WHERE a.sku_id = line.sku AND a.order_id = asked.id AND a.created_at >= @since)
          AND NOT EXISTS (SELECT 1 FROM additions a WHERE a.sku_id = line.sku AND a.order_id = asked.id AND a.created_at >= @since)));

-- name: fold_sum
-- In: @sku_id, @order_ids
INSERT INTO pruned AS p (sku_id, deductions, committed, merges)
SELECT @sku_id, count(*), coalesce(sum(d.quantity) FILTER (WHERE d.status = 'committed'), 0), count(*) FILTER (WHERE d.segment IS NULL)
FROM (SELECT value AS id FROM json_each(@order_ids)) AS asked
CROSS JOIN deductions AS d ON sku_id = @sku_id AND order_id = asked.id
WHERE d.order_id <> ''
ON CONFLICT (sku_id) DO UPDATE SET
    deductions = p.deductions + excluded.deductions, committed = p.committed + excluded.committed, merges = p.merges + excluded.merges;

-- name: forget_buyers
-- In: arrays: @counts where each buyer is counted, @buyer_ids
DELETE FROM buyers WHERE units = 0 AND (sku_id, buyer_id) IN (SELECT value, @buyer_ids ->> key FROM json_each(@counts));

-- name: orders_to_mark
-- In:  @sku_id, @order_ids
-- Out: of those that are orders of several SKUs and not marked yet: order_id, buyer_id ('': none)
SELECT order_id, coalesce(buyer_id, '') FROM orders
WHERE NOT pruned AND order_id IN (
    SELECT own.order_id FROM order_lines own WHERE own.sku_id = @sku_id AND own.order_id IN (SELECT value FROM json_each(@order_ids)));

-- name: mark_orders
-- In: arrays: @order_ids, @buyer_ids what is kept of the buyers ('': nothing)
--
-- An order of several SKUs is marked, and each of its lines is deleted with its SKU.
UPDATE orders SET pruned = true, buyer_id = nullif(new.buyer, ''), ordered_by = NULL
FROM (SELECT value AS id, @buyer_ids ->> key AS buyer FROM json_each(@order_ids) LIMIT -1) AS new
WHERE order_id IN (SELECT value FROM json_each(@order_ids)) AND order_id = new.id;

-- name: delete_changes
-- In: @sku_id, @order_ids. Those of orders of several SKUs go with the first line.
DELETE FROM order_changes WHERE order_id IN (
    SELECT own.order_id FROM order_lines own WHERE own.sku_id = @sku_id AND own.order_id IN (SELECT value FROM json_each(@order_ids)));

-- name: delete_lines
-- In: @sku_id, @order_ids
DELETE FROM order_lines WHERE sku_id = @sku_id AND order_id IN (SELECT value FROM json_each(@order_ids));

-- name: delete_own_orders
-- In: @order_ids of orders that buyers made, which begin with the buyer's id. Such an order goes with its last line, and its id is free.
DELETE FROM orders WHERE order_id IN (SELECT value FROM json_each(@order_ids)) AND pruned
  AND NOT EXISTS (SELECT 1 FROM order_lines l WHERE l.order_id = orders.order_id);

-- name: delete_amendments
-- In: @sku_id, @order_ids
DELETE FROM amendments WHERE sku_id = @sku_id AND order_id IN (SELECT value FROM json_each(@order_ids));

-- name: delete_additions
-- In: @sku_id, @order_ids
DELETE FROM additions WHERE sku_id = @sku_id AND order_id IN (SELECT value FROM json_each(@order_ids));

-- name: delete_deductions
-- In: @sku_id, @order_ids
DELETE FROM deductions WHERE sku_id = @sku_id AND order_id IN (SELECT value FROM json_each(@order_ids));
