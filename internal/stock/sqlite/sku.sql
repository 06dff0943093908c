-- SKUs: create, read, change the terms, archive.
--
-- The terms are always the same columns, in this order: sale_starts_at, sale_ends_at, per_buyer_limit, max_quantity,
-- max_reserve_us, archived_at, limit_group.

-- name: insert_sku
-- In:  $1 sku_id, $2 name, $3 initial stock, $4 segments, $5 the instant, $6 to $11 the terms, without archived_at
-- Out: the instant; no row if there is such a SKU
INSERT INTO skus (sku_id, name, initial, segments, created_at, sale_starts_at, sale_ends_at, per_buyer_limit, max_quantity,
                  max_reserve_us, limit_group)
VALUES ($1, $2, $3, $4, $5, $6, $7, nullif($8, 0), nullif($9, 0), nullif($10, 0), nullif($11, ''))
ON CONFLICT (sku_id) DO NOTHING
RETURNING created_at;

-- name: insert_segments
-- In: $1 sku_id, $2 what each segment holds
INSERT INTO stock_segments (sku_id, segment, available)
SELECT $1, key, value FROM json_each($2);

-- name: sku_exists
-- In: $1 sku_id
SELECT 1 FROM skus WHERE sku_id = $1;

-- name: created_sku
-- In:  $1 sku_id
-- Out: name, initial stock, segments, the terms
SELECT name, initial, segments, sale_starts_at, sale_ends_at, coalesce(per_buyer_limit, 0), coalesce(max_quantity, 0),
       coalesce(max_reserve_us, 0), archived_at, coalesce(limit_group, '')
FROM skus WHERE sku_id = $1;

-- name: statuses
-- In:  $1 the first sku_id, $2 one that is left out, $3 how many, $4 the instant, $5 until when no reservation is live (null: not known),
--      $6 sku_ids (null: those that $1 to $3 name)
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
           AND d.expires_at > coalesce($5, 0) AND d.expires_at <= $4),
       coalesce(k.counting, false) OR EXISTS (SELECT 1 FROM skus o WHERE o.counting AND o.limit_group = k.limit_group),
       CASE WHEN k.limit_group IS NULL THEN k.limit_since
            ELSE (SELECT max(o.limit_since) FROM skus o WHERE o.limit_group = k.limit_group) END,
       k.sale_starts_at, k.sale_ends_at, coalesce(k.per_buyer_limit, 0), coalesce(k.max_quantity, 0),
       coalesce(k.max_reserve_us, 0), k.archived_at, coalesce(k.limit_group, '')
FROM (
    SELECT s.*, (SELECT json_group_array(g.available ORDER BY g.segment) FROM stock_segments g WHERE g.sku_id = s.sku_id) AS available,
           (SELECT sum(g.reserved) FROM stock_segments g WHERE g.sku_id = s.sku_id) AS reserved
    FROM json_each(coalesce($6, (SELECT json_group_array(sku_id)
                                 FROM (SELECT sku_id FROM skus WHERE sku_id >= $1 AND sku_id <> $2 ORDER BY sku_id LIMIT $3)))) AS asked
    CROSS JOIN skus s ON s.sku_id = asked.value
) AS k
ORDER BY k.sku_id;

-- name: names
-- In:  $1 the first text, $2 how many
-- Out: sku_id, name
SELECT sku_id, name FROM skus WHERE sku_id >= $1 ORDER BY sku_id LIMIT $2;

-- name: views
-- In:  $1 sku_ids, $2 until when no reservation is live (null: not known)
-- Out: sku_id, layout, JSON arrays of what each segment holds and of their versions, the earliest expiry of a reservation (null:
--      none), the terms
SELECT k.sku_id, k.layout,
       (SELECT json_group_array(g.available ORDER BY g.segment) FROM stock_segments g WHERE g.sku_id = k.sku_id),
       (SELECT json_group_array(g.version ORDER BY g.segment) FROM stock_segments g WHERE g.sku_id = k.sku_id),
       (SELECT expires_at FROM deductions d WHERE d.sku_id = k.sku_id AND d.status = 'reserved' AND d.expires_at > coalesce($2, 0)
        ORDER BY expires_at LIMIT 1),
       k.sale_starts_at, k.sale_ends_at, coalesce(k.per_buyer_limit, 0), coalesce(k.max_quantity, 0),
       coalesce(k.max_reserve_us, 0), k.archived_at, coalesce(k.limit_group, '')
FROM skus k WHERE k.sku_id IN (SELECT value FROM json_each($1));

-- name: ages
-- In:  $1 sku_ids
-- Out: sku_id, layout, the sum of the segments' versions
SELECT sku_id, max(layout), sum(version) FROM stock_segments WHERE sku_id IN (SELECT value FROM json_each($1)) GROUP BY sku_id;

-- name: accepted
-- In:  $1 sku_ids as JSON, $2 how many
-- Out: SKUs, and ids of orders that were accepted
SELECT sku_id, order_id FROM deductions WHERE sku_id IN (SELECT value FROM json_each($1)) LIMIT $2;

-- name: profile
-- In:  $1 sku_id
-- Out: name, the terms
SELECT name, sale_starts_at, sale_ends_at, coalesce(per_buyer_limit, 0), coalesce(max_quantity, 0),
       coalesce(max_reserve_us, 0), archived_at, coalesce(limit_group, '')
FROM skus WHERE sku_id = $1;

-- name: update_profile
-- In: $1 sku_id, $2 name, $3 to $8 the terms, without archived_at. A buyer who holds more than the limit keeps it.
UPDATE skus SET name = $2, sale_starts_at = $3, sale_ends_at = $4, per_buyer_limit = nullif($5, 0),
                max_quantity = nullif($6, 0), max_reserve_us = nullif($7, 0), limit_group = nullif($8, '')
WHERE sku_id = $1;

-- name: archive_segments
-- In: $1 sku_id, $2 the layout of archived SKUs
UPDATE stock_segments SET layout = $2, version = version + 1 WHERE sku_id = $1;

-- name: archive_sku
-- In: $1 sku_id, $2 the instant
UPDATE skus SET archived_at = $2 WHERE sku_id = $1;
