-- Deductions: insert and read them.
--
-- A deduction is always the same columns, in this order: sku_id, order_id, quantity, asked, status, created_at, committed_at,
-- expires_at, reserve_micros, committed, and the texts of its order, of which buyer_id is one. Times are microseconds since 1970.
--
-- Arrays are JSON. Rows are made from them, one for each element. If there are several arrays, a limit makes SQLite build the rows
-- once, and find them by an index that it creates. The tables of a CROSS JOIN are read in their order.

-- name: insert_deduction
-- In: @sku_id, @order_id, @quantity, @segment, @expires_at (null: no reservation), @status, @at the instant, @buyer_id ('': none)
--
-- It skips what is there already.
INSERT INTO deductions (sku_id, order_id, quantity, segment, expires_at, status, created_at, buyer_id)
VALUES (@sku_id, @order_id, @quantity, @segment, @expires_at, @status, @at, nullif(@buyer_id, ''))
ON CONFLICT (sku_id, order_id) DO NOTHING;

-- name: insert_deductions
-- In: @sku_id; arrays: @order_ids, @quantities, @reserve_micros for how long each is reserved (0, or null for the array: committed at
--     once), @segments (null: several gave); @at the instant, @in_order whether they are lines of orders, @limited whether the SKU has a
--     buyer limit; arrays of the texts of orders ('': none): @buyer_ids
--
-- It skips what is there already.
INSERT INTO deductions (sku_id, order_id, quantity, segment, status, expires_at, created_at, in_order, limited, buyer_id)
SELECT @sku_id, o, q, s, CASE WHEN r > 0 THEN 'reserved' ELSE 'committed' END,
       at + nullif(r, 0), at, nullif(@in_order, false), nullif(@limited, false), nullif(buyer_id, '')
FROM (SELECT @at AS at) AS decided,
     (SELECT value AS o, @quantities ->> key AS q, @reserve_micros ->> key AS r, @segments ->> key AS s, @buyer_ids ->> key AS buyer_id
      FROM json_each(@order_ids) LIMIT -1) AS asked
ORDER BY o
ON CONFLICT (sku_id, order_id) DO NOTHING;

-- name: insert_parts
-- In: @sku_id; arrays: @order_ids, @segments, @quantities that each gave
INSERT INTO deduction_parts (sku_id, order_id, segment, quantity)
SELECT @sku_id, o, s, q FROM (SELECT value AS o, @segments ->> key AS s, @quantities ->> key AS q FROM json_each(@order_ids) LIMIT -1) AS part;

-- name: deductions_by_id
-- In:  @sku_id, @order_ids
-- Out: deductions
SELECT d.sku_id, d.order_id, d.quantity, coalesce(d.asked, d.quantity), d.status, d.created_at, d.committed_at, d.expires_at,
       d.reserve_micros, coalesce(d.committed, 0), coalesce(d.buyer_id, '')
FROM (SELECT value AS id FROM json_each(@order_ids)) AS asked
CROSS JOIN deductions AS d ON sku_id = @sku_id AND order_id = asked.id;

-- name: deduction
-- In:  @sku_id, @order_id
-- Out: a row for each part, ascending: the deduction, its segment, what that gave, whether several gave, whether it is
--      a line of an order, where its buyer is counted ('': nowhere)
--
-- A deduction from one segment has no row in deduction_parts.
SELECT d.sku_id, d.order_id, d.quantity, coalesce(d.asked, d.quantity), d.status, d.created_at, d.committed_at, d.expires_at,
       d.reserve_micros, coalesce(d.committed, 0), coalesce(d.buyer_id, ''),
       coalesce(d.segment, p.segment), coalesce(p.quantity, d.quantity), d.segment IS NULL, coalesce(d.in_order, false),
       CASE WHEN d.limited THEN coalesce(d.counted_at, d.sku_id) ELSE '' END
FROM deductions d LEFT JOIN deduction_parts p USING (sku_id, order_id)
WHERE d.sku_id = @sku_id AND d.order_id = @order_id
ORDER BY p.segment;

-- name: page_end
-- In:  @sku_id, @after the order_id before the page, @offset how many rows may be read, less 1
-- Out: the last of the rows that a page may read; none if fewer are left
SELECT order_id FROM deductions d WHERE sku_id = @sku_id AND order_id > @after ORDER BY order_id
LIMIT 1 OFFSET @offset;

-- name: page
-- In:  @sku_id, @after the order_id before the page, @last its last order_id, @buyer_id ('': any), @status ('': any), @prefix the beginning
--      of order_ids to leave out ('': none), @limit how many
-- Out: deductions
--
-- Whatever plan the buyer and the status get, the keys bound what it reads.
SELECT d.sku_id, d.order_id, d.quantity, coalesce(d.asked, d.quantity), d.status, d.created_at, d.committed_at, d.expires_at,
       d.reserve_micros, coalesce(d.committed, 0), coalesce(d.buyer_id, '')
FROM deductions d
WHERE d.sku_id = @sku_id AND d.order_id > @after AND d.order_id <= @last
  AND (@buyer_id = '' OR d.buyer_id = @buyer_id) AND (@status = '' OR d.status = @status)
  AND (@prefix = '' OR substr(d.order_id, 1, length(@prefix)) <> @prefix)
ORDER BY d.order_id LIMIT @limit;

-- name: orders_of_buyer
-- In:  @sku_id, @buyer_id, @prefix the beginning of order_ids, @has_prefix whether those that have it are wanted, or the others,
--      @limit how many
-- Out: deductions that hold units, and were taken while the SKU had a buyer limit
SELECT d.sku_id, d.order_id, d.quantity, coalesce(d.asked, d.quantity), d.status, d.created_at, d.committed_at, d.expires_at,
       d.reserve_micros, coalesce(d.committed, 0), coalesce(d.buyer_id, '')
FROM deductions d INDEXED BY deductions_by_buyer
WHERE d.limited AND (d.status = 'reserved' OR d.status = 'committed') AND d.sku_id = @sku_id AND d.buyer_id = @buyer_id
  AND (substr(d.order_id, 1, length(@prefix)) = @prefix) = @has_prefix
ORDER BY d.order_id LIMIT @limit;

-- name: orders_in_group
-- In:  @counted_at the name of the count, @buyer_id, @prefix the beginning of order_ids, @has_prefix whether those that have it are wanted,
--      or the others, @limit how many
-- Out: as orders_of_buyer, of all SKUs of the group
SELECT d.sku_id, d.order_id, d.quantity, coalesce(d.asked, d.quantity), d.status, d.created_at, d.committed_at, d.expires_at,
       d.reserve_micros, coalesce(d.committed, 0), coalesce(d.buyer_id, '')
FROM deductions d INDEXED BY deductions_by_group
WHERE d.counted_at = @counted_at AND d.buyer_id = @buyer_id AND d.limited AND (d.status = 'reserved' OR d.status = 'committed')
  AND (substr(d.order_id, 1, length(@prefix)) = @prefix) = @has_prefix
ORDER BY d.order_id, d.sku_id LIMIT @limit;

-- name: due_in_group
-- In:  @counted_at the name of the count, @buyer_ids, @at the instant
-- Out: the SKUs of which reservations of these buyers have expired whose units are not back
SELECT DISTINCT d.sku_id
FROM deductions d INDEXED BY deductions_by_group
WHERE d.counted_at = @counted_at AND d.buyer_id IN (SELECT value FROM json_each(@buyer_ids))
  AND d.limited AND (d.status = 'reserved' OR d.status = 'committed') AND d.status = 'reserved' AND d.expires_at <= @at;

-- name: dates
-- In:  @sku_id, @order_id
-- Out: when it was taken, committed (null: with that, or never, or by an older version), and cancelled or returned (null: not)
SELECT created_at, committed_at, ended_at FROM deductions WHERE sku_id = @sku_id AND order_id = @order_id;

-- name: amendments_of
-- In:  @sku_id, @order_id
-- Out: ref, kind ('': of an older version), units given back, microseconds of the extension, reason, the instant, units taken, units
--      that had gone back before they were taken again, when that was; oldest first
SELECT ref, coalesce(kind, ''), coalesce(returned, 0), coalesce(extended_micros, 0), coalesce(reason, ''), created_at AS at, 0, 0, NULL
FROM amendments WHERE sku_id = @sku_id AND order_id = @order_id
UNION ALL
SELECT ref, kind, 0, 0, '', created_at, units, ended, ended_at FROM additions WHERE sku_id = @sku_id AND order_id = @order_id
ORDER BY at, ref;
