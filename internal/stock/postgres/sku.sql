-- SKUs: create, read, change the terms, archive.
--
-- The terms are always the same columns, in this order: sale_starts_at, sale_ends_at, per_buyer_limit, max_quantity,
-- max_reserve_us, archived_at, limit_group.

-- name: insert_sku
-- In:  $1 sku_id, $2 name, $3 initial stock, $4 segments, $5 the instant (null: now), $6 to $11 the terms, without archived_at
-- Out: the instant; no row if there is such a SKU
INSERT INTO skus (sku_id, name, initial, segments, created_at, sale_starts_at, sale_ends_at, per_buyer_limit, max_quantity,
                  max_reserve_us, limit_group)
VALUES ($1, $2, $3, $4, coalesce($5::timestamptz, clock_timestamp()), $6, $7, nullif($8::bigint, 0), nullif($9::integer, 0),
        nullif($10::bigint, 0), nullif($11, ''))
ON CONFLICT (sku_id) DO NOTHING
RETURNING created_at;

-- name: insert_segments
-- In: $1 sku_id, $2 what each segment holds
INSERT INTO stock_segments (sku_id, segment, available)
SELECT $1, n - 1, a FROM unnest($2::bigint[]) WITH ORDINALITY AS spread (a, n);

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
-- In:  $1 the first sku_id, $2 one that is left out, $3 how many, $4 the instant (null: now), $5 until when no reservation is live (null:
--      not known), $6 sku_ids (null: those that $1 to $3 name)
-- Out: sku_id, name, layout, a JSON array of what each segment holds, all that was ever put in, reserved units, whether
--      reservations have expired whose units are not back, whether earlier orders are being counted for the buyer limit, since when
--      all are (null: since the SKU was created, or not), the terms
--
-- It sums nothing over deductions, of which a hot SKU has very many, and of the ledger only what was not added up yet. Committed is what
-- is neither available nor reserved. The audit proves all of that.
--
-- For EXISTS a planner that expects many SKUs would read all reservations of all SKUs once, and look each up in a table of them.
SELECT k.sku_id, k.name, k.layout, g.available,
       k.initial + k.moved + coalesce((SELECT sum(m.quantity) FROM movements m
                                       WHERE m.sku_id = k.sku_id AND m.created_at > coalesce(k.moved_until, '-infinity')), 0)::bigint,
       greatest(g.reserved - k.kept, 0),
       g.reserved > k.kept AND coalesce((SELECT true FROM deductions d WHERE d.sku_id = k.sku_id AND d.status = 'reserved'
           AND d.expires_at > coalesce($5::timestamptz, '-infinity')
           AND d.expires_at <= (SELECT coalesce($4::timestamptz, clock_timestamp())) LIMIT 1), false),
       coalesce(k.counting, false) OR EXISTS (SELECT 1 FROM skus o WHERE o.counting AND o.limit_group = k.limit_group),
       CASE WHEN k.limit_group IS NULL THEN k.limit_since
            ELSE (SELECT max(o.limit_since) FROM skus o WHERE o.limit_group = k.limit_group) END,
       k.sale_starts_at, k.sale_ends_at, coalesce(k.per_buyer_limit, 0), coalesce(k.max_quantity, 0),
       coalesce(k.max_reserve_us, 0), k.archived_at, coalesce(k.limit_group, '')
FROM unnest(coalesce($6::text[], ARRAY(SELECT sku_id FROM skus WHERE sku_id >= $1 AND sku_id <> $2 ORDER BY sku_id LIMIT $3::integer))) AS asked (id)
CROSS JOIN LATERAL (SELECT * FROM skus WHERE sku_id = asked.id OFFSET 0) AS k
CROSS JOIN LATERAL (
    SELECT json_agg(available ORDER BY segment)::text AS available, sum(reserved)::bigint AS reserved
    FROM stock_segments WHERE sku_id = k.sku_id
) AS g
ORDER BY k.sku_id;

-- name: names
-- In:  $1 the first text, $2 how many
-- Out: sku_id, name
SELECT sku_id, name FROM skus WHERE sku_id >= $1 ORDER BY sku_id LIMIT $2;

-- name: views
-- In:  $1 sku_ids, $2 until when no reservation is live (null: not known)
-- Out: sku_id, layout, JSON arrays of what each segment holds and of their versions, the earliest expiry of a reservation (null:
--      none), the terms. If units are left, the expiry is null unless it has passed: the search for a later one may be long.
SELECT k.sku_id, k.layout, g.available, g.version,
       (SELECT expires_at FROM deductions d WHERE d.sku_id = k.sku_id AND d.status = 'reserved'
            AND d.expires_at > coalesce($2::timestamptz, '-infinity')
            AND d.expires_at <= g.look_until
        ORDER BY d.expires_at LIMIT 1),
       k.sale_starts_at, k.sale_ends_at, coalesce(k.per_buyer_limit, 0), coalesce(k.max_quantity, 0),
       coalesce(k.max_reserve_us, 0), k.archived_at, coalesce(k.limit_group, '')
FROM skus k
CROSS JOIN LATERAL (
    SELECT json_agg(available ORDER BY segment)::text AS available, json_agg(version ORDER BY segment)::text AS version,
           CASE WHEN sum(available) > 0 THEN clock_timestamp() ELSE 'infinity' END AS look_until
    FROM stock_segments WHERE sku_id = k.sku_id
) AS g
WHERE k.sku_id = ANY ($1::text[]);

-- name: ages
-- In:  $1 sku_ids
-- Out: sku_id, layout, the sum of the segments' versions
SELECT sku_id, max(layout), sum(version)::bigint FROM stock_segments WHERE sku_id = ANY ($1::text[]) GROUP BY sku_id;

-- name: accepted :patient
-- In:  $1 sku_ids, $2 how many
-- Out: SKUs, and ids of orders that were accepted
SELECT sku_id, order_id FROM deductions WHERE sku_id = ANY ($1::text[]) LIMIT $2;

-- name: profile
-- In:  $1 sku_id
-- Out: name, the terms
SELECT name, sale_starts_at, sale_ends_at, coalesce(per_buyer_limit, 0), coalesce(max_quantity, 0),
       coalesce(max_reserve_us, 0), archived_at, coalesce(limit_group, '')
FROM skus WHERE sku_id = $1;

-- name: update_profile
-- In: $1 sku_id, $2 name, $3 to $8 the terms, without archived_at. A buyer who holds more than the limit keeps it.
UPDATE skus SET name = $2, sale_starts_at = $3, sale_ends_at = $4, per_buyer_limit = nullif($5::bigint, 0),
                max_quantity = nullif($6::integer, 0), max_reserve_us = nullif($7::bigint, 0),
                limit_group = nullif($8, '')
WHERE sku_id = $1;

-- name: archive_segments
-- In: $1 sku_id, $2 the layout of archived SKUs
UPDATE stock_segments SET layout = $2, version = version + 1 WHERE sku_id = $1;

-- name: archive_sku
-- In: $1 sku_id, $2 the instant (null: now)
UPDATE skus SET archived_at = coalesce($2::timestamptz, clock_timestamp()) WHERE sku_id = $1;
