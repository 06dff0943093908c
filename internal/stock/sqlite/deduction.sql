-- Deductions: insert and read them.
--
-- A deduction is always the same columns, in this order: sku_id, order_id, quantity, asked, status, created_at, committed_at,
-- expires_at, reserve_micros, committed, and the texts of its order, of which buyer_id is one. Times are microseconds since 1970.
--
-- Arrays are JSON. Rows are made from them, one for each element. If there are several arrays, a limit makes SQLite build the rows
-- once, and find them by an index that it creates. The tables of a CROSS JOIN are read in their order.

-- name: insert_deduction
-- In: $1 sku_id, $2 order_id, $3 quantity, $4 segment, $5 expiry (null: no reservation), $6 status, $7 the instant, $8 buyer_id ('':
--     none)
--
-- It skips what is there already.
INSERT INTO deductions (sku_id, order_id, quantity, segment, expires_at, status, created_at, buyer_id)
VALUES ($1, $2, $3, $4, $5, $6, $7, nullif($8, ''))
ON CONFLICT (sku_id, order_id) DO NOTHING;

-- name: insert_deductions
-- In: $1 sku_id; arrays: $2 order_ids, $3 quantities, $4 for how many microseconds each is reserved (0, or null for the array:
--     committed at once), $5 segments (null: several gave); $6 the instant, $7 whether they are lines of
--     orders, $8 whether the SKU has a buyer limit; arrays of the texts of orders ('': none): $9 buyer_ids
--
-- It skips what is there already.
INSERT INTO deductions (sku_id, order_id, quantity, segment, status, expires_at, created_at, in_order, limited, buyer_id)
SELECT $1, o, q, s, CASE WHEN r > 0 THEN 'reserved' ELSE 'committed' END,
       at + nullif(r, 0), at, nullif($7, false), nullif($8, false), nullif(buyer_id, '')
FROM (SELECT $6 AS at) AS decided,
     (SELECT value AS o, $3 ->> key AS q, $4 ->> key AS r, $5 ->> key AS s, $9 ->> key AS buyer_id
      FROM json_each($2) LIMIT -1) AS asked
ORDER BY o
ON CONFLICT (sku_id, order_id) DO NOTHING;

-- name: insert_parts
-- In: $1 sku_id; arrays: $2 order_ids, $3 segments, $4 what each gave
INSERT INTO deduction_parts (sku_id, order_id, segment, quantity)
SELECT $1, o, s, q FROM (SELECT value AS o, $3 ->> key AS s, $4 ->> key AS q FROM json_each($2) LIMIT -1) AS part;

-- name: deductions_by_id
-- In:  $1 sku_id, $2 order_ids
-- Out: deductions
SELECT d.sku_id, d.order_id, d.quantity, coalesce(d.asked, d.quantity), d.status, d.created_at, d.committed_at, d.expires_at,
       d.reserve_micros, coalesce(d.committed, 0), coalesce(d.buyer_id, '')
FROM (SELECT value AS id FROM json_each($2)) AS asked
CROSS JOIN deductions AS d ON sku_id = $1 AND order_id = asked.id;

-- name: deduction
-- In:  $1 sku_id, $2 order_id
-- Out: a row for each part, ascending: the deduction, its segment, what that gave, whether several gave, whether it is
--      a line of an order, where its buyer is counted ('': nowhere)
--
-- A deduction from one segment has no row in deduction_parts.
SELECT d.sku_id, d.order_id, d.quantity, coalesce(d.asked, d.quantity), d.status, d.created_at, d.committed_at, d.expires_at,
       d.reserve_micros, coalesce(d.committed, 0), coalesce(d.buyer_id, ''),
       coalesce(d.segment, p.segment), coalesce(p.quantity, d.quantity), d.segment IS NULL, coalesce(d.in_order, false),
       CASE WHEN d.limited THEN coalesce(d.counted_at, d.sku_id) ELSE '' END
FROM deductions d LEFT JOIN deduction_parts p USING (sku_id, order_id)
WHERE d.sku_id = $1 AND d.order_id = $2
ORDER BY p.segment;

-- name: page_end
-- In:  $1 sku_id, $2 the order_id before the page, $3 how many rows may be read, less 1
-- Out: the last of the rows that a page may read; none if fewer are left
SELECT order_id FROM deductions d WHERE sku_id = $1 AND order_id > $2 ORDER BY order_id
LIMIT 1 OFFSET $3;

-- name: page
-- In:  $1 sku_id, $2 the order_id before the page, $3 its last order_id, $4 buyer_id ('': any), $5 status ('': any), $6 the beginning of
--      order_ids to leave out ('': none), $7 its length
-- Out: deductions
--
-- Whatever plan the buyer and the status get, the keys bound what it reads.
SELECT d.sku_id, d.order_id, d.quantity, coalesce(d.asked, d.quantity), d.status, d.created_at, d.committed_at, d.expires_at,
       d.reserve_micros, coalesce(d.committed, 0), coalesce(d.buyer_id, '')
FROM deductions d
WHERE d.sku_id = $1 AND d.order_id > $2 AND d.order_id <= $3 AND ($4 = '' OR d.buyer_id = $4) AND ($5 = '' OR d.status = $5)
  AND ($6 = '' OR substr(d.order_id, 1, length($6)) <> $6)
ORDER BY d.order_id LIMIT $7;

-- name: orders_of_buyer
-- In:  $1 sku_id, $2 buyer_id, $3 the beginning of order_ids, $4 whether those that have it are wanted, or the others, $5 how many
-- Out: deductions that hold units, and were taken while the SKU had a buyer limit
SELECT d.sku_id, d.order_id, d.quantity, coalesce(d.asked, d.quantity), d.status, d.created_at, d.committed_at, d.expires_at,
       d.reserve_micros, coalesce(d.committed, 0), coalesce(d.buyer_id, '')
FROM deductions d INDEXED BY deductions_by_buyer
WHERE d.limited AND (d.status = 'reserved' OR d.status = 'committed') AND d.sku_id = $1 AND d.buyer_id = $2
  AND (substr(d.order_id, 1, length($3)) = $3) = $4
ORDER BY d.order_id LIMIT $5;

-- name: orders_in_group
-- In:  $1 the count, $2 to $5 as in orders_of_buyer
-- Out: as orders_of_buyer, of all SKUs of the group
SELECT d.sku_id, d.order_id, d.quantity, coalesce(d.asked, d.quantity), d.status, d.created_at, d.committed_at, d.expires_at,
       d.reserve_micros, coalesce(d.committed, 0), coalesce(d.buyer_id, '')
FROM deductions d INDEXED BY deductions_by_group
WHERE d.counted_at = $1 AND d.buyer_id = $2 AND d.limited AND (d.status = 'reserved' OR d.status = 'committed')
  AND (substr(d.order_id, 1, length($3)) = $3) = $4
ORDER BY d.order_id, d.sku_id LIMIT $5;

-- name: due_in_group
-- In:  $1 the count, $2 buyer_ids, $3 the instant
-- Out: the SKUs of which reservations of these buyers have expired whose units are not back
SELECT DISTINCT d.sku_id
FROM deductions d INDEXED BY deductions_by_group
WHERE d.counted_at = $1 AND d.buyer_id IN (SELECT value FROM json_each($2)) AND d.limited AND (d.status = 'reserved' OR d.status = 'committed')
  AND d.status = 'reserved' AND d.expires_at <= $3;

-- name: dates
-- In:  $1 sku_id, $2 order_id
-- Out: when it was taken, committed (null: with that, or never, or by an older version), and cancelled or returned (null: not)
SELECT created_at, committed_at, ended_at FROM deductions WHERE sku_id = $1 AND order_id = $2;

-- name: amendments_of
-- In:  $1 sku_id, $2 order_id
-- Out: ref, kind ('': of an older version), units given back, microseconds of the extension, reason, the instant, units taken, units
--      that had gone back before they were taken again, when that was; oldest first
SELECT ref, coalesce(kind, ''), coalesce(returned, 0), coalesce(extended_micros, 0), coalesce(reason, ''), created_at AS at, 0, 0, NULL
FROM amendments WHERE sku_id = $1 AND order_id = $2
UNION ALL
SELECT ref, kind, 0, 0, '', created_at, units, ended, ended_at FROM additions WHERE sku_id = $1 AND order_id = $2
ORDER BY at, ref;
