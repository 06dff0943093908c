-- Settlements: commit, cancel and amend deductions.

-- name: lock_whole
-- In:  @sku_id, @order_ids
-- Out: deductions, each with the segment that gave all of it (null: several gave), whether it is a line of an order, where its buyer is
--      counted ('': nowhere), after how many changes of the order, and whether it is a line no more
SELECT d.sku_id, d.order_id, d.quantity, coalesce(d.asked, d.quantity), d.status, d.created_at, d.committed_at, d.expires_at,
       d.reserve_micros, coalesce(d.committed, 0), coalesce(d.buyer_id, ''), d.segment, coalesce(d.in_order, false),
       CASE WHEN d.limited THEN coalesce(d.counted_at, d.sku_id) ELSE '' END, coalesce(d.revision, 0), coalesce(d.removed, false)
FROM (SELECT value AS id FROM json_each(@order_ids)) AS asked
CROSS JOIN deductions AS d ON sku_id = @sku_id AND order_id = asked.id;

-- name: parts
-- In:  @sku_id, @order_ids
-- Out: order_id, segment, what it gave
SELECT p.order_id, p.segment, p.quantity
FROM (SELECT value AS id FROM json_each(@order_ids)) AS asked
CROSS JOIN deduction_parts AS p ON sku_id = @sku_id AND order_id = asked.id
ORDER BY p.order_id, p.segment;

-- name: amendments
-- In:  @sku_id; arrays: @order_ids, @refs
-- Out: order_id, ref, kind ('': of an older version), units given back, microseconds of the extension, reason
SELECT a.order_id, a.ref, coalesce(a.kind, ''), coalesce(a.returned, 0), coalesce(a.extended_micros, 0), coalesce(a.reason, '')
FROM (SELECT value AS id, @refs ->> key AS by FROM json_each(@order_ids) LIMIT -1) AS asked
CROSS JOIN amendments AS a ON sku_id = @sku_id AND order_id = asked.id AND ref = asked.by
UNION ALL
SELECT a.order_id, a.ref, a.kind, 0, 0, ''
FROM (SELECT value AS id, @refs ->> key AS by FROM json_each(@order_ids) LIMIT -1) AS asked
CROSS JOIN additions AS a ON sku_id = @sku_id AND order_id = asked.id AND ref = asked.by;

-- name: update_deductions
-- In: @sku_id; arrays: @order_ids, @statuses, @quantities, @asked the quantities that were asked for, @committed those that were committed
--     (0: as quantity), @written_off how many units are written off now, @expiries the ends of reservations (null: none), @reserve_micros
--     for how many microseconds the orders asked, which is kept if the end is another one now; @at the instant
UPDATE deductions AS d SET status = new.status, quantity = new.quantity, asked = nullif(new.asked, new.quantity),
    committed = nullif(new.committed, 0), expires_at = new.expires_at,
    reserve_micros = CASE WHEN new.expires_at = d.expires_at THEN d.reserve_micros ELSE nullif(new.reserve_micros, 0) END,
    committed_at = CASE WHEN new.status = 'committed' AND d.status <> 'committed' THEN @at ELSE d.committed_at END,
    ended_at = CASE WHEN new.status = 'cancelled' OR new.status = 'returned' THEN @at END,
    written_off = nullif(coalesce(d.written_off, 0) + new.written_off, 0)
FROM (
    SELECT value AS order_id, @statuses ->> key AS status, @quantities ->> key AS quantity, @asked ->> key AS asked,
           @committed ->> key AS committed, @written_off ->> key AS written_off, @expiries ->> key AS expires_at,
           @reserve_micros ->> key AS reserve_micros
    FROM json_each(@order_ids) LIMIT -1
) AS new
WHERE d.sku_id = @sku_id AND d.order_id IN (SELECT value FROM json_each(@order_ids)) AND d.order_id = new.order_id;

-- name: delete_parts
-- In: @sku_id, @order_ids
DELETE FROM deduction_parts WHERE sku_id = @sku_id AND order_id IN (SELECT value FROM json_each(@order_ids));

-- name: insert_amendments
-- In: @sku_id; arrays: @order_ids, @refs, @kinds, @returned units given back (0: none), @extended_micros the length of the extension
--     (0: none), @reasons ('': none); @at the instant
INSERT INTO amendments (sku_id, order_id, ref, kind, returned, extended_micros, reason, created_at)
SELECT @sku_id, o, r, k, nullif(u, 0), nullif(e, 0), nullif(why, ''), @at
FROM (
    SELECT value AS o, @refs ->> key AS r, @kinds ->> key AS k, @returned ->> key AS u, @extended_micros ->> key AS e,
           @reasons ->> key AS why
    FROM json_each(@order_ids) LIMIT -1
) AS new;

-- name: keep_reserved
-- In: @sku_id, @units of reservations that are committed
UPDATE skus SET kept = kept + @units WHERE sku_id = @sku_id;

-- name: insert_retake
-- In: @sku_id, @order_id, @ref, @units that are taken again, @at the instant
--
-- The deduction is still as its reservation has ended. Amendments tell of its last units if they were given up in parts.
INSERT INTO additions (sku_id, order_id, ref, kind, units, ended, ended_at, created_at)
SELECT d.sku_id, d.order_id, @ref, 'retake', @units,
       CASE WHEN EXISTS (SELECT 1 FROM amendments a
                         WHERE a.sku_id = @sku_id AND a.order_id = @order_id AND a.returned IS NOT NULL AND a.created_at = d.ended_at)
           THEN 0 ELSE d.quantity END,
       CASE WHEN d.status = 'expired' THEN d.expires_at ELSE d.ended_at END, @at
FROM deductions d WHERE d.sku_id = @sku_id AND d.order_id = @order_id;

-- name: retake
-- In: @sku_id, @order_id, @segment that gives all of it (null: several give), @quantity, @at the instant, @limited whether the SKU has a
--     buyer limit
--
-- The caller has seen, under the lock of the row, that its reservation has ended.
UPDATE deductions SET status = 'committed', segment = @segment, quantity = @quantity, asked = nullif(coalesce(asked, quantity), @quantity),
    committed_at = @at, ended_at = NULL, limited = nullif(@limited, false), counted_at = NULL
WHERE sku_id = @sku_id AND order_id = @order_id;

-- name: release_line
-- In: @sku_id, @order_id, @revision how often the lines of the order were changed with this one
UPDATE deductions SET revision = @revision, removed = true WHERE sku_id = @sku_id AND order_id = @order_id;
