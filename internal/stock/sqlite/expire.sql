-- Reservations that have expired.

-- name: has_expired
-- In:  $1 sku_id, $2 the instant
-- Out: whether reservations have expired whose units are not back
SELECT EXISTS (
    SELECT 1 FROM deductions
    WHERE sku_id = $1 AND status = 'reserved' AND expires_at <= $2);

-- name: next_expiry
-- In:  $1 sku_id
-- Out: the earliest expiry of a reservation; null: there is none
--
-- It reads the first entry of the index.
SELECT (SELECT expires_at FROM deductions WHERE sku_id = $1 AND status = 'reserved' ORDER BY expires_at LIMIT 1);

-- name: skus_with_expired
-- In:  $1 the instant, $2 how many
-- Out: sku_ids
--
-- It walks through the index of live reservations from SKU to SKU, and reads one of each SKU, the first to expire.
WITH RECURSIVE reserving AS (
    SELECT (SELECT sku_id FROM deductions WHERE status = 'reserved' AND sku_id > '' ORDER BY sku_id LIMIT 1) AS sku_id
    UNION ALL
    SELECT (SELECT d.sku_id FROM deductions d WHERE d.status = 'reserved' AND d.sku_id > reserving.sku_id
            ORDER BY d.sku_id LIMIT 1)
    FROM reserving WHERE reserving.sku_id IS NOT NULL
)
SELECT sku_id FROM reserving
WHERE EXISTS (
    SELECT 1 FROM deductions d WHERE d.sku_id = reserving.sku_id AND d.status = 'reserved'
      AND d.expires_at <= $1)
LIMIT $2;

-- name: expired
-- In:  $1 sku_id, $2 the instant, $3 how many
-- Out: of the first to expire, the rows of deduction
--
-- In the order of the index: by order id alone, SQLite would go through all deductions of the SKU.
SELECT l.sku_id, l.order_id, l.quantity, coalesce(l.asked, l.quantity), l.status, l.created_at, l.expires_at,
       l.reserve_micros, coalesce(l.committed, 0), coalesce(l.buyer_id, ''),
       coalesce(l.segment, p.segment), coalesce(p.quantity, l.quantity), l.segment IS NULL, coalesce(l.in_order, false)
FROM (
    SELECT * FROM deductions WHERE sku_id = $1 AND status = 'reserved' AND expires_at <= $2
    ORDER BY expires_at, order_id LIMIT $3
) l LEFT JOIN deduction_parts p USING (sku_id, order_id)
ORDER BY l.expires_at, l.order_id, p.segment;

-- name: end_expired
-- In: $1 sku_id, $2 order_ids
UPDATE deductions SET status = 'expired' WHERE sku_id = $1 AND order_id IN (SELECT value FROM json_each($2));
