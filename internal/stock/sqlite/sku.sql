-- SKUs: create, read, change the terms, archive.
--
-- The terms are always the same columns, in this order: sale_starts_at, sale_ends_at, per_buyer_limit, max_quantity,
-- max_reserve_us, archived_at, limit_group.

-- name: insert_sku
-- In:  @sku_id, @name, @initial stock, @segments, @at the instant; the terms, without archived_at: @sale_starts_at, @sale_ends_at,
--      @per_buyer_limit, @max_quantity, @max_reserve_us, @limit_group
-- Out: the instant; no row if there is such a SKU
INSERT INTO skus (sku_id, name, initial, segments, created_at, sale_starts_at, sale_ends_at, per_buyer_limit, max_quantity,
                  max_reserve_us, limit_group)
VALUES (@sku_id, @name, @initial, @segments, @at, @sale_starts_at, @sale_ends_at,
        nullif(@per_buyer_limit, 0), nullif(@max_quantity, 0), nullif(@max_reserve_us, 0), nullif(@limit_group, ''))
ON CONFLICT (sku_id) DO NOTHING
RETURNING created_at;

-- name: insert_segments
-- In: @sku_id, @available what each segment holds
INSERT INTO stock_segments (sku_id, segment, available)
SELECT @sku_id, key, value FROM json_each(@available);

-- name: sku_exists
-- In: @sku_id
SELECT 1 FROM skus WHERE sku_id = @sku_id;

-- name: created_sku
-- In:  @sku_id
-- Out: name, initial stock, segments, the terms
SELECT name, initial, segments, sale_starts_at, sale_ends_at, coalesce(per_buyer_limit, 0), coalesce(max_quantity, 0),
       coalesce(max_reserve_us, 0), archived_at, coalesce(limit_group, '')
FROM skus WHERE sku_id = @sku_id;

-- name: statuses
-- In:  @first sku_id, @left_out a sku_id that is left out, @limit how many, @at the instant, @swept until when no reservation is live
--      (null: not known), @sku_ids (null: those that @first, @left_out and @limit name)
-- Out: sku_id, name, layout, a JSON array of what each segment holds, all that was ever put in, reserved units, whether
--      reservations have expired whose units are not back, whether earlier orders are being counted for the buyer limit, since when
--      all are (null: since the SKU was created, or not), the terms
--
-- It sums nothing over deductions, of which a hot SKU has very many, and of the ledger only what was not added up yet. Committed is what
-- is neither available nor reserved. The audit proves all of that.
SELECT k.sku_id, k.name, k.layout, k.available,
       k.initial + k.moved + coalesce((SELECT sum(m.quantity) FROM movements m
                                       WHERE m.sku_id = k.sku_id AND m.created_at > coalesce(k.moved_until, 0)), 0),
       max(k.reserved - k.kept, 0),
       k.reserved > k.kept AND EXISTS (SELECT 1 FROM deductions d WHERE d.sku_id = k.sku_id AND d.status = 'reserved'
           AND d.expires_at > coalesce(@swept, 0) AND d.expires_at <= @at),
       coalesce(k.counting, false) OR EXISTS (SELECT 1 FROM skus o WHERE o.counting AND o.limit_group = k.limit_group),
       CASE WHEN k.limit_group IS NULL THEN k.limit_since
            ELSE (SELECT max(o.limit_since) FROM skus o WHERE o.limit_group = k.limit_group) END,
       k.sale_starts_at, k.sale_ends_at, coalesce(k.per_buyer_limit, 0), coalesce(k.max_quantity, 0),
       coalesce(k.max_reserve_us, 0), k.archived_at, coalesce(k.limit_group, '')
FROM (
    SELECT s.*, (SELECT json_group_array(g.available ORDER BY g.segment) FROM stock_segments g WHERE g.sku_id = s.sku_id) AS available,
           (SELECT sum(g.reserved) FROM stock_segments g WHERE g.sku_id = s.sku_id) AS reserved
    FROM json_each(coalesce(@sku_ids, (SELECT json_group_array(sku_id)
                                       FROM (SELECT sku_id FROM skus WHERE sku_id >= @first AND sku_id <> @left_out
                                             ORDER BY sku_id LIMIT @limit)))) AS asked
    CROSS JOIN skus s ON s.sku_id = asked.value
) AS k
ORDER BY k.sku_id;

-- name: names
-- In:  @first the text at which the list begins, @limit
-- Out: sku_id, name
SELECT sku_id, name FROM skus WHERE sku_id >= @first ORDER BY sku_id LIMIT @limit;

-- name: views
-- In:  @sku_ids, @swept until when no reservation is live (null: not known)
-- Out: sku_id, layout, JSON arrays of what each segment holds and of their versions, the earliest expiry of a reservation (null:
--      none), the terms
SELECT k.sku_id, k.layout,
       (SELECT json_group_array(g.available ORDER BY g.segment) FROM stock_segments g WHERE g.sku_id = k.sku_id),
       (SELECT json_group_array(g.version ORDER BY g.segment) FROM stock_segments g WHERE g.sku_id = k.sku_id),
       (SELECT expires_at FROM deductions d WHERE d.sku_id = k.sku_id AND d.status = 'reserved' AND d.expires_at > coalesce(@swept, 0)
        ORDER BY expires_at LIMIT 1),
       k.sale_starts_at, k.sale_ends_at, coalesce(k.per_buyer_limit, 0), coalesce(k.max_quantity, 0),
       coalesce(k.max_reserve_us, 0), k.archived_at, coalesce(k.limit_group, '')
FROM skus k WHERE k.sku_id IN (SELECT value FROM json_each(@sku_ids));

-- name: ages
-- In:  @sku_ids
-- Out: sku_id, layout, the sum of the segments' versions
SELECT sku_id, max(layout), sum(version) FROM stock_segments WHERE sku_id IN (SELECT value FROM json_each(@sku_ids)) GROUP BY sku_id;

-- name: accepted
-- In:  @sku_ids as JSON, @limit
-- Out: SKUs, and ids of orders that were accepted
SELECT sku_id, order_id FROM deductions WHERE sku_id IN (SELECT value FROM json_each(@sku_ids)) LIMIT @limit;

-- name: profile
-- In:  @sku_id
-- Out: name, the terms
SELECT name, sale_starts_at, sale_ends_at, coalesce(per_buyer_limit, 0), coalesce(max_quantity, 0),
       coalesce(max_reserve_us, 0), archived_at, coalesce(limit_group, '')
FROM skus WHERE sku_id = @sku_id;

-- name: update_profile
-- In: @sku_id, @name; the terms, without archived_at: @sale_starts_at, @sale_ends_at, @per_buyer_limit, @max_quantity, @max_reserve_us,
--     @limit_group. A buyer who holds more than the limit keeps it.
UPDATE skus SET name = @name, sale_starts_at = @sale_starts_at, sale_ends_at = @sale_ends_at,
                per_buyer_limit = nullif(@per_buyer_limit, 0), max_quantity = nullif(@max_quantity, 0),
                max_reserve_us = nullif(@max_reserve_us, 0), limit_group = nullif(@limit_group, '')
WHERE sku_id = @sku_id;

-- name: archive_segments
-- In: @sku_id, @layout of archived SKUs
UPDATE stock_segments SET layout = @layout, version = version + 1 WHERE sku_id = @sku_id;

-- name: archive_sku
-- In: @sku_id, @at the instant
UPDATE skus SET archived_at = @at WHERE sku_id = @sku_id;
