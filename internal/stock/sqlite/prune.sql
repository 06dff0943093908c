-- Fold deductions of an archived SKU into its sum. The outbox and the ledger stay as they are.

-- name: prunable
-- In:  $1 sku_id, $2 order_ids, $3 the instant since which nothing may have happened
-- Out: of those that may be pruned: order_id, buyer_id ('': none), where the buyer is counted ('': nowhere), committed units
--
-- A deduction may be pruned if nothing has happened to it since $3, and its SKU is archived; an order of several SKUs if each of
-- its remaining lines may be.
SELECT d.order_id, coalesce(d.buyer_id, ''), CASE WHEN d.limited THEN coalesce(d.counted_at, d.sku_id) ELSE '' END, CASE WHEN d.status = 'committed' THEN d.quantity ELSE 0 END
FROM (SELECT value AS id FROM json_each($2)) AS asked
CROSS JOIN deductions AS d ON sku_id = $1 AND order_id = asked.id
WHERE NOT EXISTS (
    SELECT 1 FROM (
        SELECT $1 AS sku
        UNION
        SELECT l.sku_id FROM order_lines l JOIN order_lines own USING (order_id) WHERE own.order_id = asked.id AND own.sku_id = $1
    ) AS line
    WHERE NOT EXISTS (
        SELECT 1 FROM deductions d
        WHERE d.sku_id = line.sku AND d.order_id = asked.id
          AND d.status <> 'reserved' AND max(d.created_at, coalesce(d.expires_at, 0), coalesce(d.committed_at, 0), coalesce(d.ended_at, 0)) < $3
          AND EXISTS (SELECT 1 FROM skus k WHERE k.sku_id = line.sku AND k.archived_at IS NOT NULL)
          AND NOT EXISTS (SELECT 1 FROM amendments a WHERE a.sku_id = line.sku AND a.order_id = asked.id AND a.created_at >= $3)
          AND NOT EXISTS (SELECT 1 FROM additions a WHERE a.sku_id = line.sku AND a.order_id = asked.id AND a.created_at >= $3)));

-- name: fold_sum
-- In: $1 sku_id, $2 order_ids
INSERT INTO pruned AS p (sku_id, deductions, committed, merges)
SELECT $1, count(*), coalesce(sum(d.quantity) FILTER (WHERE d.status = 'committed'), 0), count(*) FILTER (WHERE d.segment IS NULL)
FROM (SELECT value AS id FROM json_each($2)) AS asked
CROSS JOIN deductions AS d ON sku_id = $1 AND order_id = asked.id
WHERE d.order_id <> ''
ON CONFLICT (sku_id) DO UPDATE SET
    deductions = p.deductions + excluded.deductions, committed = p.committed + excluded.committed, merges = p.merges + excluded.merges;

-- name: forget_buyers
-- In: arrays: $1 the counts, $2 buyer_ids
DELETE FROM buyers WHERE units = 0 AND (sku_id, buyer_id) IN (SELECT value, $2 ->> key FROM json_each($1));

-- name: orders_to_mark
-- In:  $1 sku_id, $2 order_ids
-- Out: of those that are orders of several SKUs and not marked yet: order_id, buyer_id ('': none)
SELECT order_id, coalesce(buyer_id, '') FROM orders
WHERE NOT pruned AND order_id IN (
    SELECT own.order_id FROM order_lines own WHERE own.sku_id = $1 AND own.order_id IN (SELECT value FROM json_each($2)));

-- name: mark_orders
-- In: arrays: $1 order_ids, $2 what is kept of the buyers ('': nothing). An order of several SKUs is marked, and each of its lines is deleted
-- with its SKU.
UPDATE orders SET pruned = true, buyer_id = nullif(new.buyer, ''), ordered_by = NULL
FROM (SELECT value AS id, $2 ->> key AS buyer FROM json_each($1) LIMIT -1) AS new
WHERE order_id IN (SELECT value FROM json_each($1)) AND order_id = new.id;

-- name: delete_changes
-- In: $1 sku_id, $2 order_ids. Those of orders of several SKUs go with the first line.
DELETE FROM order_changes WHERE order_id IN (
    SELECT own.order_id FROM order_lines own WHERE own.sku_id = $1 AND own.order_id IN (SELECT value FROM json_each($2)));

-- name: delete_lines
-- In: $1 sku_id, $2 order_ids
DELETE FROM order_lines WHERE sku_id = $1 AND order_id IN (SELECT value FROM json_each($2));

-- name: delete_own_orders
-- In: $1 order_ids of orders that buyers made, which begin with the buyer's id. Such an order goes with its last line, and its id is free.
DELETE FROM orders WHERE order_id IN (SELECT value FROM json_each($1)) AND pruned
  AND NOT EXISTS (SELECT 1 FROM order_lines l WHERE l.order_id = orders.order_id);

-- name: delete_amendments
-- In: $1 sku_id, $2 order_ids
DELETE FROM amendments WHERE sku_id = $1 AND order_id IN (SELECT value FROM json_each($2));

-- name: delete_additions
-- In: $1 sku_id, $2 order_ids
DELETE FROM additions WHERE sku_id = $1 AND order_id IN (SELECT value FROM json_each($2));

-- name: delete_deductions
-- In: $1 sku_id, $2 order_ids
DELETE FROM deductions WHERE sku_id = $1 AND order_id IN (SELECT value FROM json_each($2));
