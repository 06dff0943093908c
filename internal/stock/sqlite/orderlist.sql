-- The lines of all orders, by time. Two indexes are for it, which only this list needs: they are built on demand.

-- name: orders_listed
-- Out: whether there are both indexes
SELECT count(*) = 2 FROM sqlite_schema WHERE type = 'index' AND name IN ('deductions_by_time', 'deductions_of_buyers');

-- name: list_by_time
CREATE INDEX IF NOT EXISTS deductions_by_time ON deductions (created_at);

-- name: list_by_buyer
CREATE INDEX IF NOT EXISTS deductions_of_buyers ON deductions (buyer_id, created_at) WHERE buyer_id IS NOT NULL;

-- name: unlist_by_time
DROP INDEX IF EXISTS deductions_by_time;

-- name: unlist_by_buyer
DROP INDEX IF EXISTS deductions_of_buyers;

-- name: lines_end
-- In:  @after, @after_sku and @after_order the instant, the sku_id and the order_id before the page, @until the first instant behind it,
--      @offset how many rows may be read, less 1
-- Out: the last of them: created_at, sku_id, order_id; none if fewer are left
SELECT created_at, sku_id, order_id FROM deductions d INDEXED BY deductions_by_time
WHERE created_at >= @after AND created_at < @until
  AND (created_at, sku_id, order_id) > (@after, @after_sku, @after_order)
ORDER BY created_at, sku_id, order_id LIMIT 1 OFFSET @offset;

-- name: lines
-- In:  @after, @after_sku and @after_order the instant, the sku_id and the order_id before the page, @last, @last_sku and @last_order those
--      of its last row, @status ('': any), @prefix what order_ids begin with, @not_prefix what they do not ('': anything), @limit
-- Out: deductions, whether each is a line of an order of several SKUs
SELECT d.sku_id, d.order_id, d.quantity, coalesce(d.asked, d.quantity), d.status, d.created_at, d.committed_at, d.expires_at,
       d.reserve_micros, coalesce(d.committed, 0), coalesce(d.buyer_id, ''), coalesce(d.in_order, false)
FROM deductions d INDEXED BY deductions_by_time
WHERE d.created_at >= @after AND d.created_at <= @last
  AND (d.created_at, d.sku_id, d.order_id) > (@after, @after_sku, @after_order)
  AND (d.created_at, d.sku_id, d.order_id) <= (@last, @last_sku, @last_order)
  AND (@status = '' OR d.status = @status)
  AND (@prefix = '' OR substr(d.order_id, 1, length(@prefix)) = @prefix)
  AND (@not_prefix = '' OR substr(d.order_id, 1, length(@not_prefix)) <> @not_prefix)
ORDER BY d.created_at, d.sku_id, d.order_id LIMIT @limit;

-- name: lines_of_buyer_end
-- In:  @after, @after_sku and @after_order the instant, the sku_id and the order_id before the page, @until the first instant behind it,
--      @offset how many rows may be read, less 1, @buyer_id
-- Out: the last of them: created_at, sku_id, order_id; none if fewer are left
SELECT created_at, sku_id, order_id FROM deductions d INDEXED BY deductions_of_buyers
WHERE buyer_id = @buyer_id AND created_at >= @after AND created_at < @until
  AND (created_at, sku_id, order_id) > (@after, @after_sku, @after_order)
ORDER BY created_at, sku_id, order_id LIMIT 1 OFFSET @offset;

-- name: lines_of_buyer
-- In:  @after, @after_sku and @after_order the instant, the sku_id and the order_id before the page, @last, @last_sku and @last_order those
--      of its last row, @status ('': any), @prefix what order_ids begin with, @not_prefix what they do not ('': anything), @limit,
--      @buyer_id
-- Out: deductions of a buyer, whether each is a line of an order of several SKUs
SELECT d.sku_id, d.order_id, d.quantity, coalesce(d.asked, d.quantity), d.status, d.created_at, d.committed_at, d.expires_at,
       d.reserve_micros, coalesce(d.committed, 0), coalesce(d.buyer_id, ''), coalesce(d.in_order, false)
FROM deductions d INDEXED BY deductions_of_buyers
WHERE d.buyer_id = @buyer_id AND d.created_at >= @after AND d.created_at <= @last
  AND (d.created_at, d.sku_id, d.order_id) > (@after, @after_sku, @after_order)
  AND (d.created_at, d.sku_id, d.order_id) <= (@last, @last_sku, @last_order)
  AND (@status = '' OR d.status = @status)
  AND (@prefix = '' OR substr(d.order_id, 1, length(@prefix)) = @prefix)
  AND (@not_prefix = '' OR substr(d.order_id, 1, length(@not_prefix)) <> @not_prefix)
ORDER BY d.created_at, d.sku_id, d.order_id LIMIT @limit;
