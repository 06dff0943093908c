-- Fold deductions of an archived SKU into its sum. The outbox and the ledger stay as they are.

-- name: lock_to_prune
-- In:  $1 sku_id, $2 a number that means nothing, but must be the same in all processes
-- Out: whether the rows of all segments are locked, and nobody else prunes
--
-- One process prunes at a time, so none waits for another's rows.
WITH mine AS (SELECT FROM stock_segments WHERE sku_id = $1 ORDER BY segment FOR UPDATE SKIP LOCKED)
SELECT pg_try_advisory_xact_lock($2) AND (SELECT count(*) FROM mine) = (SELECT count(*) FROM stock_segments WHERE sku_id = $1);

-- name: prunable
-- In:  $1 sku_id, $2 order_ids, $3 the instant since which nothing may have happened
-- Out: of those that may be pruned: order_id, buyer_id ('': none), where the buyer is counted ('': nowhere), committed units
--
-- A deduction may be pruned if nothing has happened to it since $3, and its SKU is archived; an order of several SKUs if each of
-- its remaining lines may be. A repeated commit locks only the deduction: that one is skipped, not waited for.
SELECT d.order_id, coalesce(d.buyer_id, ''), CASE WHEN d.limited THEN coalesce(d.counted_at, d.sku_id) ELSE '' END, CASE WHEN d.status = 'committed' THEN d.quantity ELSE 0 END
FROM unnest($2::text[]) AS asked (id)
CROSS JOIN LATERAL (SELECT * FROM deductions WHERE sku_id = $1 AND order_id = asked.id FOR UPDATE SKIP LOCKED) AS d
WHERE NOT EXISTS (
    SELECT 1 FROM (
        SELECT $1 AS sku
        UNION
        SELECT l.sku_id FROM order_lines l JOIN order_lines own USING (order_id) WHERE own.order_id = asked.id AND own.sku_id = $1
    ) AS line
    WHERE NOT EXISTS (
        SELECT 1 FROM (SELECT * FROM deductions WHERE sku_id = line.sku AND order_id = asked.id OFFSET 0) AS d
        WHERE d.status <> 'reserved' AND greatest(d.created_at, d.expires_at, d.committed_at, d.ended_at) < $3
          AND EXISTS (SELECT 1 FROM skus k WHERE k.sku_id = line.sku AND k.archived_at IS NOT NULL)
          AND NOT EXISTS (SELECT 1 FROM amendments a WHERE a.sku_id = line.sku AND a.order_id = asked.id AND a.created_at >= $3)
          AND NOT EXISTS (SELECT 1 FROM additions a WHERE a.sku_id = line.sku AND a.order_id = asked.id AND a.created_at >= $3)));

-- name: fold_sum
-- In: $1 sku_id, $2 order_ids
INSERT INTO pruned AS p (sku_id, deductions, committed, merges)
SELECT $1, count(*), coalesce(sum(d.quantity) FILTER (WHERE d.status = 'committed'), 0), count(*) FILTER (WHERE d.segment IS NULL)
FROM unnest($2::text[]) AS asked (id)
CROSS JOIN LATERAL (SELECT * FROM deductions WHERE sku_id = $1 AND order_id = asked.id OFFSET 0) AS d
WHERE d.order_id <> ''
ON CONFLICT (sku_id) DO UPDATE SET
    deductions = p.deductions + excluded.deductions, committed = p.committed + excluded.committed, merges = p.merges + excluded.merges;

-- name: forget_buyers
-- In: arrays: $1 the counts, $2 buyer_ids
DELETE FROM buyers WHERE ctid = ANY (ARRAY(
    SELECT r.ctid FROM unnest($1::text[], $2::text[]) AS asked (counted_at, id)
    CROSS JOIN LATERAL (SELECT ctid FROM buyers WHERE sku_id = counted_at AND buyer_id = asked.id AND units = 0 OFFSET 0) AS r));

-- name: orders_to_mark
-- In:  $1 sku_id, $2 order_ids
-- Out: of those that are orders of several SKUs and not marked yet: order_id, buyer_id ('': none)
SELECT r.order_id, coalesce(r.buyer_id, '') FROM unnest($2::text[]) AS asked (id)
CROSS JOIN LATERAL (
    SELECT order_id, buyer_id FROM orders
    WHERE NOT pruned AND order_id IN (SELECT own.order_id FROM order_lines own WHERE own.sku_id = $1 AND own.order_id = asked.id)
    OFFSET 0
) AS r;

-- name: mark_orders
-- In: arrays: $1 order_ids, $2 what is kept of the buyers ('': nothing). An order of several SKUs is marked, and each of its lines is deleted
-- with its SKU.
UPDATE orders o SET pruned = true, buyer_id = nullif(new.buyer, ''), ordered_by = NULL
FROM unnest($1::text[], $2::text[]) AS new (id, buyer)
WHERE o.ctid = (SELECT ctid FROM orders WHERE order_id = new.id);

-- name: delete_changes
-- In: $1 sku_id, $2 order_ids. Those of orders of several SKUs go with the first line.
DELETE FROM order_changes WHERE ctid = ANY (ARRAY(
    SELECT r.ctid FROM unnest($2::text[]) AS asked (id)
    CROSS JOIN LATERAL (
        SELECT ctid FROM order_changes
        WHERE order_id IN (SELECT own.order_id FROM order_lines own WHERE own.sku_id = $1 AND own.order_id = asked.id)
        OFFSET 0
    ) AS r));

-- name: delete_lines
-- In: $1 sku_id, $2 order_ids
DELETE FROM order_lines WHERE ctid = ANY (ARRAY(
    SELECT r.ctid FROM unnest($2::text[]) AS asked (id)
    CROSS JOIN LATERAL (SELECT ctid FROM order_lines WHERE sku_id = $1 AND order_id = asked.id OFFSET 0) AS r));

-- name: delete_own_orders
-- In: $1 order_ids of orders that buyers made, which begin with the buyer's id. Such an order goes with its last line, and its id is free.
DELETE FROM orders WHERE ctid = ANY (ARRAY(
    SELECT r.ctid FROM unnest($1::text[]) AS asked (id)
    CROSS JOIN LATERAL (
        SELECT ctid FROM orders
        WHERE order_id = asked.id AND pruned AND NOT EXISTS (SELECT 1 FROM order_lines l WHERE l.order_id = asked.id)
        OFFSET 0
    ) AS r));

-- name: delete_amendments
-- In: $1 sku_id, $2 order_ids
DELETE FROM amendments WHERE ctid = ANY (ARRAY(
    SELECT r.ctid FROM unnest($2::text[]) AS asked (id)
    CROSS JOIN LATERAL (SELECT ctid FROM amendments WHERE sku_id = $1 AND order_id = asked.id OFFSET 0) AS r));

-- name: delete_additions
-- In: $1 sku_id, $2 order_ids
DELETE FROM additions WHERE ctid = ANY (ARRAY(
    SELECT r.ctid FROM unnest($2::text[]) AS asked (id)
    CROSS JOIN LATERAL (SELECT ctid FROM additions WHERE sku_id = $1 AND order_id = asked.id OFFSET 0) AS r));

-- name: delete_deductions
-- In: $1 sku_id, $2 order_ids
DELETE FROM deductions WHERE ctid = ANY (ARRAY(
    SELECT r.ctid FROM unnest($2::text[]) AS asked (id)
    CROSS JOIN LATERAL (SELECT ctid FROM deductions WHERE sku_id = $1 AND order_id = asked.id OFFSET 0) AS r));
