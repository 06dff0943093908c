-- Changes of the lines of an order of several SKUs.

-- name: lock_order
-- In:  $1 order_id
-- Out: order_id; no row if there is no order
SELECT order_id FROM orders WHERE order_id = $1 AND NOT pruned;

-- name: order_change
-- In:  $1 order_id, $2 ref
-- Out: the change that has the ref: lines as JSON, the buyer who got the order ('': none), whether returned units were written off, reason
SELECT lines, coalesce(buyer_id, ''), write_off, coalesce(reason, '') FROM order_changes WHERE order_id = $1 AND ref = $2;

-- name: revise_line
-- In: $1 sku_id, $2 order_id, $3 status, $4 quantity, $5 the quantity that was asked for, $6 that was committed (0: as quantity), $7 the
--     segment that gave all of it (null: several gave), $8 buyer_id ('': none), $9 where the buyer is counted ('': nowhere), $10 the end of the
--     reservation (null: none), $11 for how many microseconds its order asked, $12 whether the change has added the line, $13 how often
--     the lines of the order were changed with this change, $14 whether it is a line no more
UPDATE deductions SET status = $3, quantity = $4, asked = nullif($5, $4), committed = nullif($6, 0), segment = $7,
    buyer_id = nullif($8, ''), limited = CASE WHEN $9 <> '' THEN true END, counted_at = nullif(nullif($9, ''), $1), expires_at = $10,
    reserve_micros = CASE WHEN $12 OR $10 <> expires_at THEN nullif($11, 0) ELSE reserve_micros END,
    ended_at = CASE WHEN $3 = 'reserved' OR $3 = 'committed' THEN NULL ELSE ended_at END, revision = $13, removed = nullif($14, false)
WHERE sku_id = $1 AND order_id = $2;

-- name: insert_addition
-- In: $1 sku_id, $2 order_id, $3 ref, $4 kind, $5 units that were taken, $6 the instant
--
-- The deduction is still as it was. If it was released, or has expired, without an amendment that says so, this says it.
INSERT INTO additions (sku_id, order_id, ref, kind, units, ended, ended_at, created_at)
SELECT d.sku_id, d.order_id, $3, $4, $5,
       CASE WHEN d.status IN ('cancelled', 'expired') AND NOT EXISTS (
                SELECT 1 FROM amendments a WHERE a.sku_id = $1 AND a.order_id = $2 AND a.returned IS NOT NULL AND a.created_at = d.ended_at)
           THEN d.quantity ELSE 0 END,
       CASE WHEN d.status = 'expired' THEN d.expires_at WHEN d.status = 'cancelled' THEN d.ended_at END, $6
FROM deductions d WHERE d.sku_id = $1 AND d.order_id = $2;

-- name: set_aside_return
-- In: $1 sku_id, $2 order_id, $3 a ref for the return of all units that has none
UPDATE amendments SET ref = $3 WHERE sku_id = $1 AND order_id = $2 AND ref = '';

-- name: add_line
-- In: $1 order_id, $2 sku_id, $3 quantity
INSERT INTO order_lines (order_id, sku_id, quantity) SELECT o.order_id, $2, $3 FROM orders o WHERE o.order_id = $1;

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
SELECT o.order_id, $2, $3, nullif($4, ''), $5, nullif($6, ''), $7 FROM orders o WHERE o.order_id = $1;
