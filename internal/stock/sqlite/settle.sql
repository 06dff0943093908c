-- Settlements: commit, cancel and amend deductions.

-- name: lock_whole
-- In:  $1 sku_id, $2 order_ids
-- Out: deductions, each with the segment that gave all of it (null: several gave), whether it is a line of an order, where its buyer is
--      counted ('': nowhere), after how many changes of the order, and whether it is a line no more
SELECT d.sku_id, d.order_id, d.quantity, coalesce(d.asked, d.quantity), d.status, d.created_at, d.committed_at, d.expires_at,
       d.reserve_micros, coalesce(d.committed, 0), coalesce(d.buyer_id, ''), d.segment, coalesce(d.in_order, false),
       CASE WHEN d.limited THEN coalesce(d.counted_at, d.sku_id) ELSE '' END, coalesce(d.revision, 0), coalesce(d.removed, false)
FROM (SELECT value AS id FROM json_each($2)) AS asked
CROSS JOIN deductions AS d ON sku_id = $1 AND order_id = asked.id;

-- name: parts
-- In:  $1 sku_id, $2 order_ids
-- Out: order_id, segment, what it gave
SELECT p.order_id, p.segment, p.quantity
FROM (SELECT value AS id FROM json_each($2)) AS asked
CROSS JOIN deduction_parts AS p ON sku_id = $1 AND order_id = asked.id
ORDER BY p.order_id, p.segment;

-- name: amendments
-- In:  $1 sku_id; arrays: $2 order_ids, $3 refs
-- Out: order_id, ref, kind ('': of an older version), units given back, microseconds of the extension, reason
SELECT a.order_id, a.ref, coalesce(a.kind, ''), coalesce(a.returned, 0), coalesce(a.extended_micros, 0), coalesce(a.reason, '')
FROM (SELECT value AS id, $3 ->> key AS by FROM json_each($2) LIMIT -1) AS asked
CROSS JOIN amendments AS a ON sku_id = $1 AND order_id = asked.id AND ref = asked.by
UNION ALL
SELECT a.order_id, a.ref, a.kind, 0, 0, ''
FROM (SELECT value AS id, $3 ->> key AS by FROM json_each($2) LIMIT -1) AS asked
CROSS JOIN additions AS a ON sku_id = $1 AND order_id = asked.id AND ref = asked.by;

-- name: update_deductions
-- In: $1 sku_id; arrays: $2 order_ids, $3 statuses, $4 quantities, $5 quantities that were asked for, $6 that were committed
--     (0: as quantity), $7 how many units are written off now, $8 ends of reservations (null: none), $9 for how many microseconds the
--     orders asked, which is kept if the end is another one now; $10 the instant
UPDATE deductions AS d SET status = new.status, quantity = new.quantity, asked = nullif(new.asked, new.quantity),
    committed = nullif(new.committed, 0), expires_at = new.expires_at,
    reserve_micros = CASE WHEN new.expires_at = d.expires_at THEN d.reserve_micros ELSE nullif(new.reserve_micros, 0) END,
    committed_at = CASE WHEN new.status = 'committed' AND d.status <> 'committed' THEN $10 ELSE d.committed_at END,
    ended_at = CASE WHEN new.status = 'cancelled' OR new.status = 'returned' THEN $10 END,
    written_off = nullif(coalesce(d.written_off, 0) + new.written_off, 0)
FROM (
    SELECT value AS order_id, $3 ->> key AS status, $4 ->> key AS quantity, $5 ->> key AS asked, $6 ->> key AS committed,
           $7 ->> key AS written_off, $8 ->> key AS expires_at, $9 ->> key AS reserve_micros
    FROM json_each($2) LIMIT -1
) AS new
WHERE d.sku_id = $1 AND d.order_id IN (SELECT value FROM json_each($2)) AND d.order_id = new.order_id;

-- name: delete_parts
-- In: $1 sku_id, $2 order_ids.
DELETE FROM deduction_parts WHERE sku_id = $1 AND order_id IN (SELECT value FROM json_each($2));

-- name: insert_amendments
-- In: $1 sku_id; arrays: $2 order_ids, $3 refs, $4 kinds, $5 units given back (0: none), $6 microseconds of the extension (0: none),
--     $7 reasons ('': none); $8 the instant
INSERT INTO amendments (sku_id, order_id, ref, kind, returned, extended_micros, reason, created_at)
SELECT $1, o, r, k, nullif(u, 0), nullif(e, 0), nullif(why, ''), $8
FROM (
    SELECT value AS o, $3 ->> key AS r, $4 ->> key AS k, $5 ->> key AS u, $6 ->> key AS e, $7 ->> key AS why
    FROM json_each($2) LIMIT -1
) AS new;

-- name: keep_reserved
-- In: $1 sku_id, $2 units of reservations that are committed
UPDATE skus SET kept = kept + $2 WHERE sku_id = $1;

-- name: insert_retake
-- In: $1 sku_id, $2 order_id, $3 the ref, $4 units that are taken again, $5 the instant
--
-- The deduction is still as its reservation has ended. Amendments tell of its last units if they were given up in parts.
INSERT INTO additions (sku_id, order_id, ref, kind, units, ended, ended_at, created_at)
SELECT d.sku_id, d.order_id, $3, 'retake', $4,
       CASE WHEN EXISTS (SELECT 1 FROM amendments a
                         WHERE a.sku_id = $1 AND a.order_id = $2 AND a.returned IS NOT NULL AND a.created_at = d.ended_at)
           THEN 0 ELSE d.quantity END,
       CASE WHEN d.status = 'expired' THEN d.expires_at ELSE d.ended_at END, $5
FROM deductions d WHERE d.sku_id = $1 AND d.order_id = $2;

-- name: retake
-- In: $1 sku_id, $2 order_id, $3 the segment that gives all of it (null: several give), $4 quantity, $5 the instant, $6 whether
--     the SKU has a buyer limit
--
-- The caller has seen, under the lock of the row, that its reservation has ended.
UPDATE deductions SET status = 'committed', segment = $3, quantity = $4, asked = nullif(coalesce(asked, quantity), $4),
    committed_at = $5, ended_at = NULL, limited = nullif($6, false), counted_at = NULL
WHERE sku_id = $1 AND order_id = $2;

-- name: release_line
-- In: $1 sku_id, $2 order_id, $3 how often the lines of the order were changed with this one
UPDATE deductions SET revision = $3, removed = true WHERE sku_id = $1 AND order_id = $2;
