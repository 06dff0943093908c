-- Statements on the tables of a shard, in place of those of package postgres: the lines of orders are in other shards.

-- name: incomplete_lines
-- In and out: as in package postgres. Package citus compares the lines with the deductions of all shards.
SELECT '', 0::bigint WHERE false;

-- name: unlisted_deductions
-- In and out: as in package postgres.
SELECT 0::bigint WHERE $1::text IS NOT NULL;

-- name: prunable
-- In and out: as in package postgres. Package citus asks for no order of several SKUs of which another line may not be pruned.
SELECT d.order_id, coalesce(d.buyer_id, ''), CASE WHEN d.limited THEN coalesce(d.counted_at, d.sku_id) ELSE '' END, CASE WHEN d.status = 'committed' THEN d.quantity ELSE 0 END
FROM unnest($2::text[]) AS asked (id)
CROSS JOIN LATERAL (SELECT * FROM deductions WHERE sku_id = $1 AND order_id = asked.id FOR UPDATE SKIP LOCKED) AS d
WHERE d.status <> 'reserved' AND greatest(d.created_at, d.expires_at, d.committed_at, d.ended_at) < $3
  AND EXISTS (SELECT 1 FROM skus k WHERE k.sku_id = $1 AND k.archived_at IS NOT NULL)
  AND NOT EXISTS (SELECT 1 FROM amendments a WHERE a.sku_id = $1 AND a.order_id = asked.id AND a.created_at >= $3)
  AND NOT EXISTS (SELECT 1 FROM additions a WHERE a.sku_id = $1 AND a.order_id = asked.id AND a.created_at >= $3);
