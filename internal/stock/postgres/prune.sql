-- Fold deductions of an archived SKU into its sum. The outbox and the ledger stay as they are.

-- name: lock_to_prune
-- In:  @sku_id, @lock_key a number that means nothing, but must be the same in all processes
-- Out: whether the rows of all segments are locked, and nobody else prunes
--
-- One process prunes at a time, so none waits for another's rows.
WITH mine AS (SELECT FROM stock_segments WHERE sku_id = @sku_id ORDER BY segment FOR UPDATE SKIP LOCKED)
SELECT pg_try_advisory_xact_lock(@lock_key) AND (SELECT count(*) FROM mine) = (SELECT count(*) FROM stock_segments WHERE sku_id = @sku_id);

-- name: prunable
-- In:  @sku_id, @order_ids, @since the instant since which nothing may have happened
-- Out: of those that may be pruned: order_id, buyer_id ('': none), where the buyer is counted ('': nowhere), committed units
--
-- A deduction may be pruned if nothing has happened to it since then, and its SKU is archived; an order of several SKUs if each of
-- its remaining lines may be. A repeated commit locks only the deduction: that one is skipped, not waited for.
SELECT d.order_id, coalesce(d.buyer_id, ''), CASE WHEN d.limited THEN coalesce(d.counted_at, d.sku_id) ELSE '' END, CASE WHEN d.status = 'committed' THEN d.quantity ELSE 0 END
FROM unnest(@order_ids::text[]) AS asked (id)
CROSS JOIN LATERAL (SELECT * FROM deductions WHERE sku_id = @sku_id AND order_id = asked.id FOR UPDATE SKIP LOCKED) AS d
WHERE NOT EXISTS (
    SELECT 1 FROM (
        SELECT @sku_id AS sku
        UNION
        SELECT l.sku_id FROM order_lines l JOIN order_lines own USING (order_id) WHERE own.order_id = asked.id AND own.sku_id = @sku_id
    ) AS line
    WHERE NOT EXISTS (
        SELECT 1 FROM (SELECT * FROM deductions WHERE sku_id = line.sku AND order_id = asked.id OFFSET 0) AS d
        WHERE d.status <> 'reserved' AND greatest(d.created_at, d.expires_at, d.committed_at, d.ended_at) < @since
          AND EXISTS (SELECT 1 FROM skus k WHERE k.sku_id = line.sku AND k.archived_at IS NOT NULL)
          AND NOT EXISTS (SELECT 1 FROM amendments a WHERE a.sku_id = line.sku AND a.order_id = asked.id AND a.created_at >= @since)
          AND NOT EXISTS (SELECT 1 FROM additions a WHERE a.sku_id = line.sku AND a.order_id = asked.id AND a.created_at >= @since)));

-- name: fold_sum
-- In: @sku_id, @order_ids
INSERT INTO pruned AS p (sku_id, deductions, committed, merges)
SELECT @sku_id, count(*), coalesce(sum(d.quantity) FILTER (WHERE d.status = 'committed'), 0), count(*) FILTER (WHERE d.segment IS NULL)
FROM unnest(@order_ids::text[]) AS asked (id)
CROSS JOIN LATERAL (SELECT * FROM deductions WHERE sku_id = @sku_id AND order_id = asked.id OFFSET 0) AS d
WHERE d.order_id <> ''
ON CONFLICT (sku_id) DO UPDATE SET
    deductions = p.deductions + excluded.deductions, committed = p.committed + excluded.committed, merges = p.merges + excluded.merges;

-- name: forget_buyers
-- In: arrays: @counts where each buyer is counted, @buyer_ids
DELETE FROM buyers WHERE ctid = ANY (ARRAY(
    SELECT r.ctid FROM unnest(@counts::text[], @buyer_ids::text[]) AS asked (counted_at, id)
    CROSS JOIN LATERAL (SELECT ctid FROM buyers WHERE sku_id = counted_at AND buyer_id = asked.id AND units = 0 OFFSET 0) AS r));

-- name: orders_to_mark
-- In:  @sku_id, @order_ids
-- Out: of those that are orders of several SKUs and not marked yet: order_id, buyer_id ('': none)
SELECT r.order_id, coalesce(r.buyer_id, '') FROM unnest(@order_ids::text[]) AS asked (id)
CROSS JOIN LATERAL (
    SELECT order_id, buyer_id FROM orders
    WHERE NOT pruned AND order_id IN (SELECT own.order_id FROM order_lines own WHERE own.sku_id = @sku_id AND own.order_id = asked.id)
    OFFSET 0
) AS r;

-- name: mark_orders
-- In: arrays: @order_ids, @buyer_ids what is kept of the buyers ('': nothing)
--
-- An order of several SKUs is marked, and each of its lines is deleted with its SKU.
UPDATE orders o SET pruned = true, buyer_id = nullif(new.buyer, ''), ordered_by = NULL
FROM unnest(@order_ids::text[], @buyer_ids::text[]) AS new (id, buyer)
WHERE o.ctid = (SELECT ctid FROM orders WHERE order_id = new.id);

-- name: delete_changes
-- In: @sku_id, @order_ids. Those of orders of several SKUs go with the first line.
DELETE FROM order_changes WHERE ctid = ANY (ARRAY(
    SELECT r.ctid FROM unnest(@order_ids::text[]) AS asked (id)
    CROSS JOIN LATERAL (
        SELECT ctid FROM order_changes
        WHERE order_id IN (SELECT own.order_id FROM order_lines own WHERE own.sku_id = @sku_id AND own.order_id = asked.id)
        OFFSET 0
    ) AS r));

-- name: delete_lines
-- In: @sku_id, @order_ids
DELETE FROM order_lines WHERE ctid = ANY (ARRAY(
    SELECT r.ctid FROM unnest(@order_ids::text[]) AS asked (id)
    CROSS JOIN LATERAL (SELECT ctid FROM order_lines WHERE sku_id = @sku_id AND order_id = asked.id OFFSET 0) AS r));

-- name: delete_own_orders
-- In: @order_ids of orders that buyers made, which begin with the buyer's id. Such an order goes with its last line, and its id is free.
DELETE FROM orders WHERE ctid = ANY (ARRAY(
    SELECT r.ctid FROM unnest(@order_ids::text[]) AS asked (id)
    CROSS JOIN LATERAL (
        SELECT ctid FROM orders
        WHERE order_id = asked.id AND pruned AND NOT EXISTS (SELECT 1 FROM order_lines l WHERE l.order_id = asked.id)
        OFFSET 0
    ) AS r));

-- name: delete_amendments
-- In: @sku_id, @order_ids
DELETE FROM amendments WHERE ctid = ANY (ARRAY(
    SELECT r.ctid FROM unnest(@order_ids::text[]) AS asked (id)
    CROSS JOIN LATERAL (SELECT ctid FROM amendments WHERE sku_id = @sku_id AND order_id = asked.id OFFSET 0) AS r));

-- name: delete_additions
-- In: @sku_id, @order_ids
DELETE FROM additions WHERE ctid = ANY (ARRAY(
    SELECT r.ctid FROM unnest(@order_ids::text[]) AS asked (id)
    CROSS JOIN LATERAL (SELECT ctid FROM additions WHERE sku_id = @sku_id AND order_id = asked.id OFFSET 0) AS r));

-- name: delete_deductions
-- In: @sku_id, @order_ids
DELETE FROM deductions WHERE ctid = ANY (ARRAY(
    SELECT r.ctid FROM unnest(@order_ids::text[]) AS asked (id)
    CROSS JOIN LATERAL (SELECT ctid FROM deductions WHERE sku_id = @sku_id AND order_id = asked.id OFFSET 0) AS r));
