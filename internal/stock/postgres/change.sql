-- Changes of the lines of an order of several SKUs.

-- name: lock_order
-- In:  @order_id
-- Out: order_id; no row if there is no order
SELECT order_id FROM orders WHERE order_id = @order_id AND NOT pruned FOR UPDATE;

-- name: order_change
-- In:  @order_id, @ref
-- Out: the change that has the ref: lines as JSON, the buyer who got the order ('': none), whether returned units were written off, reason
SELECT lines, coalesce(buyer_id, ''), write_off, coalesce(reason, '') FROM order_changes WHERE order_id = @order_id AND ref = @ref;

-- name: revise_line
-- In: @sku_id, @order_id, @status, @quantity, @asked how many were asked for, @committed how many were committed (0: as @quantity),
--     @segment that gave all of it (null: several gave), @buyer_id ('': none), @counted_at where the buyer is counted ('': nowhere),
--     @expires_at the end of the reservation (null: none), @reserve_micros for how long its order asked, @added whether the change has
--     added the line, @revision how often the lines of the order were changed with this change, @removed whether it is a line no more
UPDATE deductions SET status = @status, quantity = @quantity::integer, asked = nullif(@asked::integer, @quantity::integer),
    committed = nullif(@committed::integer, 0), segment = @segment, buyer_id = nullif(@buyer_id, ''),
    limited = CASE WHEN @counted_at <> '' THEN true END, counted_at = nullif(nullif(@counted_at, ''), @sku_id),
    expires_at = @expires_at::timestamptz,
    reserve_micros = CASE WHEN @added OR @expires_at::timestamptz <> expires_at THEN nullif(@reserve_micros::bigint, 0) ELSE reserve_micros END,
    ended_at = CASE WHEN @status = 'reserved' OR @status = 'committed' THEN NULL ELSE ended_at END,
    revision = @revision, removed = nullif(@removed, false)
WHERE sku_id = @sku_id AND order_id = @order_id;

-- name: insert_addition
-- In: @sku_id, @order_id, @ref, @kind, @units that were taken, @at the instant
--
-- The deduction is still as it was. If it was released, or has expired, without an amendment that says so, this says it.
INSERT INTO additions (sku_id, order_id, ref, kind, units, ended, ended_at, created_at)
SELECT d.sku_id, d.order_id, @ref, @kind, @units::integer,
       CASE WHEN d.status IN ('cancelled', 'expired') AND NOT EXISTS (
                SELECT 1 FROM amendments a
                WHERE a.sku_id = @sku_id AND a.order_id = @order_id AND a.returned IS NOT NULL AND a.created_at = d.ended_at)
           THEN d.quantity ELSE 0 END,
       CASE WHEN d.status = 'expired' THEN d.expires_at WHEN d.status = 'cancelled' THEN d.ended_at END, @at::timestamptz
FROM deductions d WHERE d.sku_id = @sku_id AND d.order_id = @order_id;

-- name: set_aside_return
-- In: @sku_id, @order_id, @ref for the return of all units that has none
UPDATE amendments SET ref = @ref WHERE sku_id = @sku_id AND order_id = @order_id AND ref = '';

-- name: add_line
-- In: @order_id, @sku_id, @quantity
INSERT INTO order_lines (order_id, sku_id, quantity) SELECT o.order_id, @sku_id, @quantity::integer FROM orders o WHERE o.order_id = @order_id;

-- name: hand_over
-- In: @order_id, @buyer_id of the buyer who has it now
UPDATE orders SET buyer_id = @buyer_id, ordered_by = coalesce(ordered_by, buyer_id, '') WHERE order_id = @order_id;

-- name: hand_overs
-- In:  @order_id
-- Out: of each change that gave the order another buyer: ref, the buyer, reason, the instant; the first first
SELECT ref, buyer_id, coalesce(reason, ''), created_at
FROM order_changes WHERE order_id = @order_id AND buyer_id IS NOT NULL ORDER BY created_at, ref;

-- name: insert_change
-- In: @order_id, @ref, @lines as JSON, @buyer_id of the buyer who gets the order ('': none), @write_off whether returned units are written
--     off, @reason ('': none), @at the instant
INSERT INTO order_changes (order_id, ref, lines, buyer_id, write_off, reason, created_at)
SELECT o.order_id, @ref, @lines, nullif(@buyer_id, ''), @write_off::boolean, nullif(@reason, ''), @at::timestamptz
FROM orders o WHERE o.order_id = @order_id;

-- name: require_seen
-- In: @order_id, @ref, @buyer_id, @revision how often the lines of the order were changed, @deadline the instant from which it is too late
--     (null: none); arrays with an element for each line: @sku_ids, @layouts (0: no unit moves), @statuses ('': there is no such line),
--     @quantities, @expiries of reservations (null: none)
--
-- It fails unless all is as it was seen, no buyer is counted, and the ref is new. The rows are locked. A line's parts change with
-- its status, its quantity or its revision.
SELECT inventory_require(
    EXISTS (SELECT 1 FROM orders WHERE order_id = @order_id AND NOT pruned AND coalesce(buyer_id, '') = @buyer_id)
        AND (@deadline::timestamptz IS NULL OR clock_timestamp() < @deadline)
        AND NOT EXISTS (
            SELECT 1
            FROM unnest(@sku_ids::text[], @layouts::bigint[], @statuses::text[], @quantities::integer[], @expiries::timestamptz[])
                AS seen (sku, layout, status, quantity, until)
            LEFT JOIN LATERAL (SELECT * FROM deductions WHERE sku_id = sku AND order_id = @order_id OFFSET 0) AS d ON true
            WHERE coalesce(d.status, '') <> seen.status OR coalesce(d.revision, 0) > @revision OR d.limited
                OR d.sku_id IS NOT NULL AND (d.quantity, d.expires_at) IS DISTINCT FROM (seen.quantity, seen.until)
                OR EXISTS (SELECT 1 FROM amendments WHERE sku_id = sku AND order_id = @order_id AND ref = @ref)
                OR EXISTS (SELECT 1 FROM additions WHERE sku_id = sku AND order_id = @order_id AND ref = @ref)
                OR seen.layout <> 0 AND EXISTS (SELECT 1 FROM stock_segments g WHERE g.sku_id = sku AND g.layout <> seen.layout)), 0);

-- name: require_in_time
-- In: @deadline (null: none)
SELECT inventory_require(@deadline::timestamptz IS NULL OR clock_timestamp() <= @deadline, 0);
