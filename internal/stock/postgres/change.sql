-- Changes of the lines of an order of several SKUs.

-- name: lock_order
-- In:  $1 order_id
-- Out: order_id; no row if there is no order
SELECT order_id FROM orders WHERE order_id = $1 AND NOT pruned FOR UPDATE;

-- name: order_change
-- In:  $1 order_id, $2 ref
-- Out: the change that has the ref: lines as JSON, the buyer who got the order ('': none), whether returned units were written off, reason
SELECT lines, coalesce(buyer_id, ''), write_off, coalesce(reason, '') FROM order_changes WHERE order_id = $1 AND ref = $2;

-- name: revise_line
-- In: $1 sku_id, $2 order_id, $3 status, $4 quantity, $5 the quantity that was asked for, $6 that was committed (0: as quantity), $7 the
--     segment that gave all of it (null: several gave), $8 buyer_id ('': none), $9 where the buyer is counted ('': nowhere), $10 the end of the
--     reservation (null: none), $11 for how many microseconds its order asked, $12 whether the change has added the line, $13 how often
--     the lines of the order were changed with this change, $14 whether it is a line no more
UPDATE deductions SET status = $3, quantity = $4::integer, asked = nullif($5::integer, $4::integer), committed = nullif($6::integer, 0), segment = $7,
    buyer_id = nullif($8, ''), limited = CASE WHEN $9 <> '' THEN true END, counted_at = nullif(nullif($9, ''), $1), expires_at = $10::timestamptz,
    reserve_micros = CASE WHEN $12 OR $10::timestamptz <> expires_at THEN nullif($11::bigint, 0) ELSE reserve_micros END,
    ended_at = CASE WHEN $3 = 'reserved' OR $3 = 'committed' THEN NULL ELSE ended_at END, revision = $13, removed = nullif($14, false)
WHERE sku_id = $1 AND order_id = $2;

-- name: insert_addition
-- In: $1 sku_id, $2 order_id, $3 ref, $4 kind, $5 units that were taken, $6 the instant
--
-- The deduction is still as it was. If it was released, or has expired, without an amendment that says so, this says it.
INSERT INTO additions (sku_id, order_id, ref, kind, units, ended, ended_at, created_at)
SELECT d.sku_id, d.order_id, $3, $4, $5::integer,
       CASE WHEN d.status IN ('cancelled', 'expired') AND NOT EXISTS (
                SELECT 1 FROM amendments a WHERE a.sku_id = $1 AND a.order_id = $2 AND a.returned IS NOT NULL AND a.created_at = d.ended_at)
           THEN d.quantity ELSE 0 END,
       CASE WHEN d.status = 'expired' THEN d.expires_at WHEN d.status = 'cancelled' THEN d.ended_at END, $6::timestamptz
FROM deductions d WHERE d.sku_id = $1 AND d.order_id = $2;

-- name: set_aside_return
-- In: $1 sku_id, $2 order_id, $3 a ref for the return of all units that has none
UPDATE amendments SET ref = $3 WHERE sku_id = $1 AND order_id = $2 AND ref = '';

-- name: add_line
-- In: $1 order_id, $2 sku_id, $3 quantity
INSERT INTO order_lines (order_id, sku_id, quantity) SELECT o.order_id, $2, $3::integer FROM orders o WHERE o.order_id = $1;

-- name: hand_over
-- In: $1 order_id, $2 the buyer whose it is now
UPDATE orders SET buyer_id = $2, ordered_by = coalesce(ordered_by, buyer_id, '') WHERE order_id = $1;

-- name: hand_overs
-- In:  $1 order_id
-- Out: of each change that gave the order another buyer: ref, the buyer, reason, the instant; the first first
SELECT ref, buyer_id, coalesce(reason, ''), created_at FROM order_changes WHERE order_id = $1 AND buyer_id IS NOT NULL ORDER BY created_at, ref;

-- name: insert_change
-- In: $1 order_id, $2 ref, $3 lines as JSON, $4 the buyer who gets the order ('': none), $5 whether returned units are written off, $6 the
--     reason ('': none), $7 the instant
INSERT INTO order_changes (order_id, ref, lines, buyer_id, write_off, reason, created_at)
SELECT o.order_id, $2, $3, nullif($4, ''), $5::boolean, nullif($6, ''), $7::timestamptz FROM orders o WHERE o.order_id = $1;

-- name: require_seen
-- In: $1 order_id, $2 ref, $3 buyer_id, $4 how often the lines of the order were changed, $5 the instant from which it is too late (null: none);
--     arrays with an element for each line: $6 sku_ids, $7 layouts (0: no unit moves), $8 statuses ('': there is no such line), $9 quantities,
--     $10 ends of reservations (null: none)
--
-- It fails unless all is as it was seen, no buyer is counted, and the ref is new. The rows are locked. A line's parts change with
-- its status, its quantity or its revision.
SELECT inventory_require(
    EXISTS (SELECT 1 FROM orders WHERE order_id = $1 AND NOT pruned AND coalesce(buyer_id, '') = $3)
        AND ($5::timestamptz IS NULL OR clock_timestamp() < $5)
        AND NOT EXISTS (
            SELECT 1
            FROM unnest($6::text[], $7::bigint[], $8::text[], $9::integer[], $10::timestamptz[])
                AS seen (sku, layout, status, quantity, until)
            LEFT JOIN LATERAL (SELECT * FROM deductions WHERE sku_id = sku AND order_id = $1 OFFSET 0) AS d ON true
            WHERE coalesce(d.status, '') <> seen.status OR coalesce(d.revision, 0) > $4 OR d.limited
                OR d.sku_id IS NOT NULL AND (d.quantity, d.expires_at) IS DISTINCT FROM (seen.quantity, seen.until)
                OR EXISTS (SELECT 1 FROM amendments WHERE sku_id = sku AND order_id = $1 AND ref = $2)
                OR EXISTS (SELECT 1 FROM additions WHERE sku_id = sku AND order_id = $1 AND ref = $2)
                OR seen.layout <> 0 AND EXISTS (SELECT 1 FROM stock_segments g WHERE g.sku_id = sku AND g.layout <> seen.layout)), 0);

-- name: require_in_time
-- In: $1 the deadline (null: none)
SELECT inventory_require($1::timestamptz IS NULL OR clock_timestamp() <= $1, 0);
