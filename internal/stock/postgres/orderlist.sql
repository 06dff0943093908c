-- The lines of all orders, by time. Two indexes are for it, which only this list needs: they are built on demand.

-- name: orders_listed
-- Out: whether there are both indexes, and are whole
SELECT count(*) = 2 FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
WHERE i.indrelid = to_regclass('deductions') AND i.indisvalid AND c.relname IN ('deductions_by_time', 'deductions_of_buyers');

-- name: list_by_time :patient
CREATE INDEX CONCURRENTLY IF NOT EXISTS deductions_by_time ON deductions (created_at);

-- name: list_by_buyer :patient
CREATE INDEX CONCURRENTLY IF NOT EXISTS deductions_of_buyers ON deductions (buyer_id, created_at) WHERE buyer_id IS NOT NULL;

-- name: unlist_by_time :patient
DROP INDEX CONCURRENTLY IF EXISTS deductions_by_time;

-- name: unlist_by_buyer :patient
DROP INDEX CONCURRENTLY IF EXISTS deductions_of_buyers;

-- name: lines_end
-- In:  @after, @after_sku and @after_order the instant, the sku_id and the order_id before the page, @until the first instant behind it,
--      @offset how many rows may be read, less 1
-- Out: the last of them: created_at, sku_id, order_id; none if fewer are left
SELECT created_at, sku_id, order_id FROM deductions
WHERE created_at >= @after AND created_at < @until
  AND (created_at, sku_id, order_id) > (@after, @after_sku, @after_order)
ORDER BY created_at, sku_id, order_id LIMIT 1 OFFSET (SELECT CAST(@offset AS bigint));

-- name: lines
-- In:  @after, @after_sku and @after_order the instant, the sku_id and the order_id before the page, @last, @last_sku and @last_order those
--      of its last row, @status ('': any), @prefix what order_ids begin with, @not_prefix what they do not ('': anything), @limit
-- Out: deductions, whether each is a line of an order of several SKUs
SELECT d.sku_id, d.order_id, d.quantity, coalesce(d.asked, d.quantity), d.status, d.created_at, d.committed_at, d.expires_at,
       d.reserve_micros, coalesce(d.committed, 0), coalesce(d.buyer_id, ''), coalesce(d.in_order, false)
FROM deductions d
WHERE d.created_at >= @after AND d.created_at <= @last
  AND (d.created_at, d.sku_id, d.order_id) > (@after, @after_sku, @after_order)
  AND (d.created_at, d.sku_id, d.order_id) <= (@last, @last_sku, @last_order)
  AND (@status = '' OR d.status = @status)
  AND (@prefix = '' OR starts_with(d.order_id, @prefix))
  AND (@not_prefix = '' OR NOT starts_with(d.order_id, @not_prefix))
ORDER BY d.created_at, d.sku_id, d.order_id LIMIT @limit;

-- name: lines_of_buyer_end
-- In:  @after, @after_sku and @after_order the instant, the sku_id and the order_id before the page, @until the first instant behind it,
--      @offset how many rows may be read, less 1, @buyer_id
-- Out: the last of them: created_at, sku_id, order_id; none if fewer are left
SELECT created_at, sku_id, order_id FROM deductions
WHERE buyer_id = @buyer_id AND created_at >= @after AND created_at < @until
  AND (created_at, sku_id, order_id) > (@after, @after_sku, @after_order)
ORDER BY created_at, sku_id, order_id LIMIT 1 OFFSET (SELECT CAST(@offset AS bigint));

-- name: lines_of_buyer
-- In:  @after, @after_sku and @after_order the instant, the sku_id and the order_id before the page, @last, @last_sku and @last_order those
--      of its last row, @status ('': any), @prefix what order_ids begin with, @not_prefix what they do not ('': anything), @limit,
--      @buyer_id
-- Out: deductions of a buyer, whether each is a line of an order of several SKUs
SELECT d.sku_id, d.order_id, d.quantity, coalesce(d.asked, d.quantity), d.status, d.created_at, d.committed_at, d.expires_at,
       d.reserve_micros, coalesce(d.committed, 0), coalesce(d.buyer_id, ''), coalesce(d.in_order, false)
FROM deductions d
WHERE d.buyer_id = @buyer_id AND d.created_at >= @after AND d.created_at <= @last
  AND (d.created_at, d.sku_id, d.order_id) > (@after, @after_sku, @after_order)
  AND (d.created_at, d.sku_id, d.order_id) <= (@last, @last_sku, @last_order)
  AND (@status = '' OR d.status = @status)
  AND (@prefix = '' OR starts_with(d.order_id, @prefix))
  AND (@not_prefix = '' OR NOT starts_with(d.order_id, @not_prefix))
ORDER BY d.created_at, d.sku_id, d.order_id LIMIT @limit;
