-- Reservations that have expired.

-- name: has_expired
-- In:  @sku_id, @at the instant, @swept until when no reservation is live (null: not known)
-- Out: whether reservations have expired whose units are not back
SELECT EXISTS (
    SELECT 1 FROM deductions
    WHERE sku_id = @sku_id AND status = 'reserved' AND expires_at > coalesce(@swept, 0) AND expires_at <= @at);

-- name: next_expiry
-- In:  @sku_id, @at the instant, @swept until when no reservation is live (null: not known), @units
-- Out: the earliest expiry of a reservation; null: there is none. If more than these units are left, it is null unless it has passed.
--
-- It reads the first entry of the index.
SELECT (SELECT expires_at FROM deductions
        WHERE sku_id = @sku_id AND status = 'reserved' AND expires_at > coalesce(@swept, 0)
          AND expires_at <= CASE WHEN (SELECT sum(available) FROM stock_segments WHERE sku_id = @sku_id) > @units THEN @at
                                 ELSE 9223372036854775807 END
        ORDER BY expires_at LIMIT 1);

-- name: skus_with_expired
-- In:  @at the instant, @swept until when no reservation is live (null: not known), @limit how many reservations
-- Out: of the first to expire: sku_id, the earliest expiry; the earliest first
SELECT sku_id, min(expires_at)
FROM (
    SELECT sku_id, expires_at FROM deductions
    WHERE status = 'reserved' AND expires_at > coalesce(@swept, 0) AND expires_at <= @at
    ORDER BY expires_at LIMIT @limit
)
GROUP BY sku_id ORDER BY min(expires_at), sku_id;

-- name: expired
-- In:  @sku_id, @at the instant, @limit how many
-- Out: of the first to expire, the rows of deduction
--
-- In the order of the index: by order id alone, SQLite would go through all deductions of the SKU.
SELECT l.sku_id, l.order_id, l.quantity, coalesce(l.asked, l.quantity), l.status, l.created_at, l.committed_at, l.expires_at,
       l.reserve_micros, coalesce(l.committed, 0), coalesce(l.buyer_id, ''),
       coalesce(l.segment, p.segment), coalesce(p.quantity, l.quantity), l.segment IS NULL, coalesce(l.in_order, false),
       CASE WHEN l.limited THEN coalesce(l.counted_at, l.sku_id) ELSE '' END
FROM (
    SELECT * FROM deductions WHERE sku_id = @sku_id AND status = 'reserved' AND expires_at <= @at
    ORDER BY expires_at, order_id LIMIT @limit
) l LEFT JOIN deduction_parts p USING (sku_id, order_id)
ORDER BY l.expires_at, l.order_id, p.segment;

-- name: end_expired
-- In: @sku_id, @order_ids
UPDATE deductions SET status = 'expired' WHERE sku_id = @sku_id AND order_id IN (SELECT value FROM json_each(@order_ids));
