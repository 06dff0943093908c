-- Settlements: commit, cancel and amend deductions. The rows are locked, so each still has the ctid under which it was found.

-- name: lock_whole
-- In:  @sku_id, @order_ids, ascending: so the locks are taken in ascending order
-- Out: deductions, each with the segment that gave all of it (null: several gave), whether it is a line of an order, where its buyer is
--      counted ('': nowhere), after how many changes of the order, and whether it is a line no more
SELECT d.sku_id, d.order_id, d.quantity, coalesce(d.asked, d.quantity), d.status, d.created_at, d.committed_at, d.expires_at,
       d.reserve_micros, coalesce(d.committed, 0), coalesce(d.buyer_id, ''), d.segment, coalesce(d.in_order, false),
       CASE WHEN d.limited THEN coalesce(d.counted_at, d.sku_id) ELSE '' END, coalesce(d.revision, 0), coalesce(d.removed, false)
FROM unnest(@order_ids::text[]) AS asked (id)
CROSS JOIN LATERAL (SELECT * FROM deductions WHERE sku_id = @sku_id AND order_id = asked.id FOR UPDATE) AS d;

-- name: parts
-- In:  @sku_id, @order_ids
-- Out: order_id, segment, what it gave
SELECT p.order_id, p.segment, p.quantity
FROM unnest(@order_ids::text[]) AS asked (id)
CROSS JOIN LATERAL (SELECT * FROM deduction_parts WHERE sku_id = @sku_id AND order_id = asked.id OFFSET 0) AS p
ORDER BY p.order_id, p.segment;

-- name: amendments
-- In:  @sku_id; arrays: @order_ids, @refs
-- Out: order_id, ref, kind ('': of an older version), units given back, microseconds of the extension, reason
SELECT a.order_id, a.ref, a.kind, a.returned, a.extended_micros, a.reason
FROM unnest(@order_ids::text[], @refs::text[]) AS asked (id, by)
CROSS JOIN LATERAL (
    SELECT order_id, ref, coalesce(kind, '') AS kind, coalesce(returned, 0) AS returned, coalesce(extended_micros, 0) AS extended_micros,
           coalesce(reason, '') AS reason
    FROM amendments WHERE sku_id = @sku_id AND order_id = asked.id AND ref = asked.by
    UNION ALL
    SELECT order_id, ref, kind, 0, 0, '' FROM additions WHERE sku_id = @sku_id AND order_id = asked.id AND ref = asked.by OFFSET 0
) AS a;

-- name: update_deductions
-- In: @sku_id; arrays: @order_ids, @statuses, @quantities, @asked the quantities that were asked for, @committed those that were committed
--     (0: as quantity), @written_off how many units are written off now, @expiries the ends of reservations (null: none), @reserve_micros
--     for how many microseconds the orders asked, which is kept if the end is another one now; @at the instant
UPDATE deductions AS d SET status = new.status, quantity = new.quantity, asked = nullif(new.asked, new.quantity),
    committed = nullif(new.committed, 0), expires_at = new.expires_at,
    reserve_micros = CASE WHEN new.expires_at = d.expires_at THEN d.reserve_micros ELSE nullif(new.reserve_micros, 0) END,
    committed_at = CASE WHEN new.status = 'committed' AND d.status <> 'committed' THEN @at::timestamptz ELSE d.committed_at END,
    ended_at = CASE WHEN new.status = 'cancelled' OR new.status = 'returned' THEN @at::timestamptz END,
    written_off = nullif(coalesce(d.written_off, 0) + new.written_off, 0)
FROM unnest(@order_ids::text[], @statuses::text[], @quantities::integer[], @asked::integer[], @committed::integer[],
            @written_off::integer[], @expiries::timestamptz[], @reserve_micros::bigint[])
    AS new (order_id, status, quantity, asked, committed, written_off, expires_at, reserve_micros)
WHERE d.ctid = (SELECT ctid FROM deductions WHERE sku_id = @sku_id AND order_id = new.order_id);

-- name: delete_parts
-- In: @sku_id, @order_ids. Each id is looked up by itself, as in deductions_by_id.
DELETE FROM deduction_parts WHERE ctid = ANY (ARRAY(
    SELECT r.ctid FROM unnest(@order_ids::text[]) AS asked (id)
    CROSS JOIN LATERAL (SELECT ctid FROM deduction_parts WHERE sku_id = @sku_id AND order_id = asked.id OFFSET 0) AS r));

-- name: insert_amendments
-- In: @sku_id; arrays: @order_ids, @refs, @kinds, @returned units given back (0: none), @extended_micros the length of the extension
--     (0: none), @reasons ('': none); @at the instant
INSERT INTO amendments (sku_id, order_id, ref, kind, returned, extended_micros, reason, created_at)
SELECT @sku_id, o, r, k, nullif(u, 0), nullif(e, 0), nullif(why, ''), @at::timestamptz
FROM unnest(@order_ids::text[], @refs::text[], @kinds::text[], @returned::integer[], @extended_micros::bigint[], @reasons::text[])
     AS new (o, r, k, u, e, why);

-- name: keep_reserved
-- In: @sku_id, @units of reservations that are committed
--
-- This row is locked last of all, and is not a segment's: a commit does not wait for workers that sell.
UPDATE skus SET kept = kept + @units WHERE sku_id = @sku_id;

-- name: insert_retake
-- In: @sku_id, @order_id, @ref, @units that are taken again, @at the instant
--
-- The deduction is still as its reservation has ended. Amendments tell of its last units if they were given up in parts.
INSERT INTO additions (sku_id, order_id, ref, kind, units, ended, ended_at, created_at)
SELECT d.sku_id, d.order_id, @ref, 'retake', @units::integer,
       CASE WHEN EXISTS (SELECT 1 FROM amendments a
                         WHERE a.sku_id = @sku_id AND a.order_id = @order_id AND a.returned IS NOT NULL AND a.created_at = d.ended_at)
           THEN 0 ELSE d.quantity END,
       CASE WHEN d.status = 'expired' THEN d.expires_at ELSE d.ended_at END, @at::timestamptz
FROM deductions d WHERE d.sku_id = @sku_id AND d.order_id = @order_id;

-- name: retake
-- In: @sku_id, @order_id, @segment that gives all of it (null: several give), @quantity, @at the instant, @limited whether the SKU has a
--     buyer limit
--
-- The caller has seen, under the lock of the row, that its reservation has ended.
UPDATE deductions SET status = 'committed', segment = @segment, quantity = @quantity, asked = nullif(coalesce(asked, quantity), @quantity),
    committed_at = @at::timestamptz, ended_at = NULL, limited = nullif(@limited::boolean, false), counted_at = NULL
WHERE sku_id = @sku_id AND order_id = @order_id;

-- name: release_line
-- In: @sku_id, @order_id, @revision how often the lines of the order were changed with this one
UPDATE deductions SET revision = @revision, removed = true WHERE sku_id = @sku_id AND order_id = @order_id;
