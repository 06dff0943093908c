-- Statements for a cluster alone: where its shards and nodes are, and the lines of orders, which are in the shards of their orders.

-- name: placements :patient
-- Where the shards of the SKUs are, by their lowest hash, and the name of each table there. Tables of one group are always
-- moved and split together.
SELECT first.shardid, first.shardminvalue::integer, n.nodename, n.nodeport,
       array_agg(t.logicalrelid::regclass::text ORDER BY t.logicalrelid), array_agg(t.shardid ORDER BY t.logicalrelid)
FROM pg_dist_shard first
JOIN pg_dist_placement p ON p.shardid = first.shardid
JOIN pg_dist_node n ON n.groupid = p.groupid AND n.noderole = 'primary'
JOIN pg_dist_shard t ON t.shardminvalue = first.shardminvalue AND t.logicalrelid IN (
    SELECT logicalrelid FROM pg_dist_partition
    WHERE colocationid = (SELECT colocationid FROM pg_dist_partition WHERE logicalrelid = 'skus'::regclass))
WHERE first.logicalrelid = 'skus'::regclass
GROUP BY 1, 2, 3, 4
ORDER BY 2
;

-- name: nodes
-- Out: the group, the host and the port of each server
SELECT groupid, nodename, nodeport FROM pg_dist_node WHERE noderole = 'primary' AND isactive ORDER BY groupid;

-- name: prepared
-- Out: the names of transactions over nodes that are between their two phases here
SELECT gid FROM pg_prepared_xacts WHERE database = current_database() AND gid LIKE 'citus%';

-- name: skus_of_order
-- In:  @order_id
-- Out: the SKUs of its lines
SELECT sku_id FROM order_lines WHERE order_id = @order_id ORDER BY sku_id;

-- name: line_of_order
-- In:  @sku_id, @order_id
-- Out: the deduction of a line, after how many changes of the order it is so, and whether it is a line no more
SELECT d.sku_id, d.order_id, d.quantity, coalesce(d.asked, d.quantity), d.status, d.created_at, d.committed_at, d.expires_at, d.reserve_micros,
       coalesce(d.committed, 0), coalesce(d.buyer_id, ''), coalesce(d.revision, 0), coalesce(d.removed, false)
FROM deductions d WHERE d.sku_id = @sku_id AND d.order_id = @order_id;

-- name: skus_of_orders
-- In:  @order_ids
-- Out: order_id, the SKUs of its lines
SELECT order_id, array_agg(sku_id) FROM order_lines WHERE order_id = ANY (@order_ids::text[]) GROUP BY order_id;

-- name: order_lines :patient
-- In:  @sku_id ('': all)
-- Out: order_id, sku_id of each line
SELECT order_id, sku_id FROM order_lines WHERE @sku_id = '' OR sku_id = @sku_id;

-- name: ended
-- In:  @sku_id, @order_ids, @since the instant since which nothing may have happened
-- Out: the order_ids of deductions that may be pruned
SELECT asked.id
FROM unnest(@order_ids::text[]) AS asked (id)
CROSS JOIN LATERAL (SELECT * FROM deductions WHERE sku_id = @sku_id AND order_id = asked.id OFFSET 0) AS d
WHERE d.status <> 'reserved' AND greatest(d.created_at, d.expires_at, d.committed_at, d.ended_at) < @since
  AND EXISTS (SELECT 1 FROM skus k WHERE k.sku_id = @sku_id AND k.archived_at IS NOT NULL)
  AND NOT EXISTS (SELECT 1 FROM amendments a WHERE a.sku_id = @sku_id AND a.order_id = asked.id AND a.created_at >= @since)
  AND NOT EXISTS (SELECT 1 FROM additions a WHERE a.sku_id = @sku_id AND a.order_id = asked.id AND a.created_at >= @since);

-- name: unlist
-- In: @sku_id, @order_ids whose lines of the SKU are removed
WITH unlisted AS (
    DELETE FROM order_lines WHERE sku_id = @sku_id AND order_id = ANY (@order_ids::text[]) RETURNING order_id
)
DELETE FROM order_changes WHERE order_id IN (SELECT order_id FROM unlisted);
