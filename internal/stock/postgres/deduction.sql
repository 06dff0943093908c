-- Deductions: insert and read them.
--
-- A deduction is always the same columns, in this order: sku_id, order_id, quantity, asked, status, created_at, committed_at,
-- expires_at, reserve_micros, committed, and the texts of its order, of which buyer_id is one.

-- name: insert_deductions
-- In: @sku_id; arrays: @order_ids, @quantities, @reserve_micros for how long each is reserved (0, or null for the array: committed at
--     once), @segments (null: several gave); @at the instant, @in_order whether they are lines of orders, @limited whether the SKU has a
--     buyer limit; arrays of the texts of orders ('': none): @buyer_ids
--
-- It skips what is there already.
INSERT INTO deductions (sku_id, order_id, quantity, segment, status, expires_at, created_at, in_order, limited, buyer_id)
SELECT @sku_id, o, q, s, CASE WHEN r > 0 THEN 'reserved' ELSE 'committed' END,
       at + nullif(r, 0) * interval '1 microsecond', at, nullif(@in_order::boolean, false), nullif(@limited::boolean, false), nullif(buyer_id, '')
FROM (SELECT @at::timestamptz AS at) AS decided,
     unnest(@order_ids::text[], @quantities::integer[], @reserve_micros::bigint[], @segments::integer[], @buyer_ids::text[])
         AS asked (o, q, r, s, buyer_id)
ORDER BY o COLLATE "C"
ON CONFLICT (sku_id, order_id) DO NOTHING;

-- name: insert_parts
-- In: @sku_id; arrays: @order_ids, @segments, @quantities that each gave
INSERT INTO deduction_parts (sku_id, order_id, segment, quantity)
SELECT @sku_id, o, s, q FROM unnest(@order_ids::text[], @segments::integer[], @quantities::integer[]) AS part (o, s, q);

-- name: postpone
-- In: @sku_id, @order_id, @created_at the instant from which it is reserved, @expires_at the end
--
-- One statement for each deduction: a cluster can find its row as well.
UPDATE deductions SET created_at = @created_at, expires_at = @expires_at WHERE sku_id = @sku_id AND order_id = @order_id;

-- name: deductions_by_id
-- In:  @sku_id, @order_ids
-- Out: deductions
--
-- Each order id is looked up by itself, in the index. For a list of ids the planner may read all orders of the SKU: it has no
-- statistics of a SKU that has just started to sell.
SELECT d.sku_id, d.order_id, d.quantity, coalesce(d.asked, d.quantity), d.status, d.created_at, d.committed_at, d.expires_at,
       d.reserve_micros, coalesce(d.committed, 0), coalesce(d.buyer_id, '')
FROM unnest(@order_ids::text[]) AS asked (id)
CROSS JOIN LATERAL (SELECT * FROM deductions WHERE sku_id = @sku_id AND order_id = asked.id OFFSET 0) AS d;

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
--
-- The offset is a sub-select so that the planner does not know it: if the planner takes a SKU for small, it would read and sort
-- all its rows, to be sure of that many.
SELECT order_id FROM deductions WHERE sku_id = @sku_id AND order_id > @after ORDER BY order_id
LIMIT 1 OFFSET (SELECT CAST(@offset AS bigint));

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
  AND (@prefix = '' OR NOT starts_with(d.order_id, @prefix))
ORDER BY d.order_id LIMIT @limit;

-- name: orders_of_buyer
-- In:  @sku_id, @buyer_id, @prefix the beginning of order_ids, @has_prefix whether those that have it are wanted, or the others,
--      @limit how many
-- Out: deductions that hold units, and were taken while the SKU had a buyer limit
--
-- The planner must not look for them in the order of the key: it would read those of all buyers.
SELECT d.sku_id, d.order_id, d.quantity, coalesce(d.asked, d.quantity), d.status, d.created_at, d.committed_at, d.expires_at,
       d.reserve_micros, coalesce(d.committed, 0), coalesce(d.buyer_id, '')
FROM (SELECT * FROM deductions
      WHERE limited AND (status = 'reserved' OR status = 'committed') AND sku_id = @sku_id AND buyer_id = @buyer_id
        AND starts_with(order_id, @prefix) = @has_prefix OFFSET 0) AS d
ORDER BY d.order_id LIMIT @limit;

-- name: orders_in_group
-- In:  @counted_at the name of the count, @buyer_id, @prefix the beginning of order_ids, @has_prefix whether those that have it are wanted,
--      or the others, @limit how many
-- Out: as orders_of_buyer, of all SKUs of the group
SELECT d.sku_id, d.order_id, d.quantity, coalesce(d.asked, d.quantity), d.status, d.created_at, d.committed_at, d.expires_at,
       d.reserve_micros, coalesce(d.committed, 0), coalesce(d.buyer_id, '')
FROM (SELECT * FROM deductions
      WHERE counted_at = @counted_at AND buyer_id = @buyer_id AND limited AND (status = 'reserved' OR status = 'committed')
        AND starts_with(order_id, @prefix) = @has_prefix OFFSET 0) AS d
ORDER BY d.order_id, d.sku_id LIMIT @limit;

-- name: due_in_group
-- In:  @counted_at the name of the count, @buyer_ids, @at the instant (null: now)
-- Out: the SKUs of which reservations of these buyers have expired whose units are not back
SELECT DISTINCT d.sku_id
FROM unnest(@buyer_ids::text[]) AS asked (id)
CROSS JOIN LATERAL (
    SELECT * FROM deductions
    WHERE counted_at = @counted_at AND buyer_id = asked.id AND limited AND (status = 'reserved' OR status = 'committed') OFFSET 0
) AS d
WHERE d.status = 'reserved' AND d.expires_at <= (SELECT coalesce(@at::timestamptz, clock_timestamp()));

-- name: dates
-- In:  @sku_id, @order_id
-- Out: when it was taken, committed (null: with that, or never, or by an older version), and cancelled or returned (null: not)
SELECT created_at, committed_at, ended_at FROM deductions WHERE sku_id = @sku_id AND order_id = @order_id;

-- name: amendments_of
-- In:  @sku_id, @order_id
-- Out: ref, kind ('': of an older version), units given back, microseconds of the extension, reason, the instant, units taken, units
--      that had gone back before they were taken again, when that was; oldest first
SELECT ref, coalesce(kind, ''), coalesce(returned, 0), coalesce(extended_micros, 0), coalesce(reason, ''), created_at AS at, 0, 0, NULL::timestamptz
FROM amendments WHERE sku_id = @sku_id AND order_id = @order_id
UNION ALL
SELECT ref, kind, 0, 0, '', created_at, units, ended, ended_at FROM additions WHERE sku_id = @sku_id AND order_id = @order_id
ORDER BY at, ref;
