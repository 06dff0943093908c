-- Settlements: commit, cancel and amend deductions. The rows are locked, so each still has the ctid under which it was found.

-- name: lock_whole
-- In:  $1 sku_id, $2 order_ids, ascending: so the locks are taken in ascending order
-- Out: deductions, each with the segment that gave all of it (null: several gave), and whether it is a line of an order
SELECT d.sku_id, d.order_id, d.quantity, coalesce(d.asked, d.quantity), d.status, d.created_at, d.expires_at,
       d.reserve_micros, coalesce(d.committed, 0), coalesce(d.buyer_id, ''), d.segment, coalesce(d.in_order, false)
FROM unnest($2::text[]) AS asked (id)
CROSS JOIN LATERAL (SELECT * FROM deductions WHERE sku_id = $1 AND order_id = asked.id FOR UPDATE) AS d;

-- name: parts
-- In:  $1 sku_id, $2 order_ids
-- Out: order_id, segment, what it gave
SELECT p.order_id, p.segment, p.quantity
FROM unnest($2::text[]) AS asked (id)
CROSS JOIN LATERAL (SELECT * FROM deduction_parts WHERE sku_id = $1 AND order_id = asked.id OFFSET 0) AS p
ORDER BY p.order_id, p.segment;

-- name: amendments
-- In:  $1 sku_id; arrays: $2 order_ids, $3 refs
-- Out: order_id, ref, kind ('': of an older version), units given back, microseconds of the extension, reason
SELECT a.order_id, a.ref, coalesce(a.kind, ''), coalesce(a.returned, 0), coalesce(a.extended_micros, 0), coalesce(a.reason, '')
FROM unnest($2::text[], $3::text[]) AS asked (id, by)
CROSS JOIN LATERAL (SELECT * FROM amendments WHERE sku_id = $1 AND order_id = asked.id AND ref = asked.by OFFSET 0) AS a;

-- name: update_deductions
-- In: $1 sku_id; arrays: $2 order_ids, $3 statuses, $4 quantities, $5 quantities that were asked for, $6 that were committed
--     (0: as quantity), $7 how many units are written off now, $8 ends of reservations (null: none), $9 for how many microseconds the
--     orders asked, which is kept if the end is another one now; $10 the instant
UPDATE deductions AS d SET status = new.status, quantity = new.quantity, asked = nullif(new.asked, new.quantity),
    committed = nullif(new.committed, 0), expires_at = new.expires_at,
    reserve_micros = CASE WHEN new.expires_at = d.expires_at THEN d.reserve_micros ELSE nullif(new.reserve_micros, 0) END,
    committed_at = CASE WHEN new.status = 'committed' AND d.status <> 'committed' THEN $10::timestamptz ELSE d.committed_at END,
    ended_at = CASE WHEN new.status = 'cancelled' OR new.status = 'returned' THEN $10::timestamptz END,
    written_off = nullif(coalesce(d.written_off, 0) + new.written_off, 0)
FROM unnest($2::text[], $3::text[], $4::integer[], $5::integer[], $6::integer[], $7::integer[], $8::timestamptz[], $9::bigint[])
    AS new (order_id, status, quantity, asked, committed, written_off, expires_at, reserve_micros)
WHERE d.ctid = (SELECT ctid FROM deductions WHERE sku_id = $1 AND order_id = new.order_id);

-- name: delete_parts
-- In: $1 sku_id, $2 order_ids. Each id is looked up by itself, as in deductions_by_id.
DELETE FROM deduction_parts WHERE ctid = ANY (ARRAY(
    SELECT r.ctid FROM unnest($2::text[]) AS asked (id)
    CROSS JOIN LATERAL (SELECT ctid FROM deduction_parts WHERE sku_id = $1 AND order_id = asked.id OFFSET 0) AS r));

-- name: insert_amendments
-- In: $1 sku_id; arrays: $2 order_ids, $3 refs, $4 kinds, $5 units given back (0: none), $6 microseconds of the extension (0: none),
--     $7 reasons ('': none); $8 the instant
INSERT INTO amendments (sku_id, order_id, ref, kind, returned, extended_micros, reason, created_at)
SELECT $1, o, r, k, nullif(u, 0), nullif(e, 0), nullif(why, ''), $8::timestamptz
FROM unnest($2::text[], $3::text[], $4::text[], $5::integer[], $6::bigint[], $7::text[]) AS new (o, r, k, u, e, why);

-- name: keep_reserved
-- In: $1 sku_id, $2 units of reservations that are committed
--
-- This row is locked last of all, and is not a segment's: a commit does not wait for workers that sell.
UPDATE skus SET kept = kept + $2 WHERE sku_id = $1;

-- name: retake
-- In: $1 sku_id, $2 order_id, $3 the segment that gives all of it (null: several give), $4 quantity, $5 the instant, $6 whether
--     the SKU has a buyer limit
--
-- The caller has seen, under the lock of the row, that its reservation has expired.
UPDATE deductions SET status = 'committed', segment = $3, quantity = $4, asked = nullif(coalesce(asked, quantity), $4), committed_at = $5::timestamptz,
    limited = nullif(coalesce(limited, false) OR $6, false)
WHERE sku_id = $1 AND order_id = $2;
