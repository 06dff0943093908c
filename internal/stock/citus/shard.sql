-- Statements on the tables of a shard, in place of those of package postgres: the lines of orders are in other shards.

-- name: incomplete_lines
-- Out: as in package postgres. Package citus compares the lines with the deductions of all shards.
SELECT '', 0::bigint WHERE false;

-- name: unlisted_deductions
-- In:  @sku_id
-- Out: as in package postgres
SELECT 0::bigint WHERE @sku_id::text IS NOT NULL;

-- name: prunable
-- In:  @sku_id, @order_ids, @since, as in package postgres
-- Out: as there
--
-- Package citus asks for no order of several SKUs of which another line may not be pruned.
SELECT d.order_id, coalesce(d.buyer_id, ''), CASE WHEN d.limited THEN coalesce(d.counted_at, d.sku_id) ELSE '' END, CASE WHEN d.status = 'committed' THEN d.quantity ELSE 0 END
FROM unnest(@order_ids::text[]) AS asked (id)
CROSS JOIN LATERAL (SELECT * FROM deductions WHERE sku_id = @sku_id AND order_id = asked.id FOR UPDATE SKIP LOCKED) AS d
WHERE d.status <> 'reserved' AND greatest(d.created_at, d.expires_at, d.committed_at, d.ended_at) < @since
  AND EXISTS (SELECT 1 FROM skus k WHERE k.sku_id = @sku_id AND k.archived_at IS NOT NULL)
  AND NOT EXISTS (SELECT 1 FROM amendments a WHERE a.sku_id = @sku_id AND a.order_id = asked.id AND a.created_at >= @since)
  AND NOT EXISTS (SELECT 1 FROM additions a WHERE a.sku_id = @sku_id AND a.order_id = asked.id AND a.created_at >= @since);
