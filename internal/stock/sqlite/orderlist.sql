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
-- In:  $1 to $3 the instant, the sku_id and the order_id before the page, $4 the first instant behind it, $5 how many rows may be read, less 1
-- Out: the last of them: created_at, sku_id, order_id; none if fewer are left
SELECT created_at, sku_id, order_id FROM deductions d INDEXED BY deductions_by_time
WHERE created_at >= $1 AND created_at < $4 AND (created_at, sku_id, order_id) > ($1, $2, $3)
ORDER BY created_at, sku_id, order_id LIMIT 1 OFFSET $5;

-- name: lines
-- In:  $1 to $3 the instant, the sku_id and the order_id before the page, $4 to $6 those of its last row, $7 status ('': any), $8 what order_ids
--      begin with, $9 what they do not ('': anything), $10 how many
-- Out: deductions, whether each is a line of an order of several SKUs
SELECT d.sku_id, d.order_id, d.quantity, coalesce(d.asked, d.quantity), d.status, d.created_at, d.committed_at, d.expires_at,
       d.reserve_micros, coalesce(d.committed, 0), coalesce(d.buyer_id, ''), coalesce(d.in_order, false)
FROM deductions d INDEXED BY deductions_by_time
WHERE d.created_at >= $1 AND d.created_at <= $4 AND (d.created_at, d.sku_id, d.order_id) > ($1, $2, $3)
  AND (d.created_at, d.sku_id, d.order_id) <= ($4, $5, $6) AND ($7 = '' OR d.status = $7)
  AND ($8 = '' OR substr(d.order_id, 1, length($8)) = $8) AND ($9 = '' OR substr(d.order_id, 1, length($9)) <> $9)
ORDER BY d.created_at, d.sku_id, d.order_id LIMIT $10;

-- name: lines_of_buyer_end
-- In:  $1 to $3 the instant, the sku_id and the order_id before the page, $4 the first instant behind it, $5 how many rows may be read, less 1, $6 buyer_id
-- Out: the last of them: created_at, sku_id, order_id; none if fewer are left
SELECT created_at, sku_id, order_id FROM deductions d INDEXED BY deductions_of_buyers
WHERE buyer_id = $6 AND created_at >= $1 AND created_at < $4 AND (created_at, sku_id, order_id) > ($1, $2, $3)
ORDER BY created_at, sku_id, order_id LIMIT 1 OFFSET $5;

-- name: lines_of_buyer
-- In:  $1 to $3 the instant, the sku_id and the order_id before the page, $4 to $6 those of its last row, $7 status ('': any), $8 what order_ids
--      begin with, $9 what they do not ('': anything), $10 how many, $11 buyer_id
-- Out: deductions of a buyer, whether each is a line of an order of several SKUs
SELECT d.sku_id, d.order_id, d.quantity, coalesce(d.asked, d.quantity), d.status, d.created_at, d.committed_at, d.expires_at,
       d.reserve_micros, coalesce(d.committed, 0), coalesce(d.buyer_id, ''), coalesce(d.in_order, false)
FROM deductions d INDEXED BY deductions_of_buyers
WHERE d.buyer_id = $11 AND d.created_at >= $1 AND d.created_at <= $4 AND (d.created_at, d.sku_id, d.order_id) > ($1, $2, $3)
  AND (d.created_at, d.sku_id, d.order_id) <= ($4, $5, $6) AND ($7 = '' OR d.status = $7)
  AND ($8 = '' OR substr(d.order_id, 1, length($8)) = $8) AND ($9 = '' OR substr(d.order_id, 1, length($9)) <> $9)
ORDER BY d.created_at, d.sku_id, d.order_id LIMIT $10;
