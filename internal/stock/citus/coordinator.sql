-- Statements that Citus carries out for the coordinator, in place of those of package postgres: In and out are as there.
--
-- Citus routes a statement by a comparison of each table's key, and an insert by the key of the rows that it selects from: never
-- by a parameter among the values. Parts of a WITH that write would be carried out one after another.

-- name: insert_deductions
INSERT INTO deductions (sku_id, order_id, quantity, segment, status, expires_at, created_at, in_order, limited, buyer_id)
SELECT k.sku_id, o, q, s, CASE WHEN r > 0 THEN 'reserved' ELSE 'committed' END,
       at + nullif(r, 0) * interval '1 microsecond', at, nullif($7::boolean, false), nullif($8::boolean, false), nullif(buyer_id, '')
FROM skus k, (SELECT $6::timestamptz AS at) AS decided,
     unnest($2::text[], $3::integer[], $4::bigint[], $5::integer[], $9::text[]) AS asked (o, q, r, s, buyer_id)
WHERE k.sku_id = $1
ORDER BY o COLLATE "C"
ON CONFLICT (sku_id, order_id) DO NOTHING;

-- name: insert_parts
INSERT INTO deduction_parts (sku_id, order_id, segment, quantity)
SELECT k.sku_id, o, s, q FROM skus k, unnest($2::text[], $3::integer[], $4::integer[]) AS part (o, s, q) WHERE k.sku_id = $1;

-- name: count_buyers
INSERT INTO buyers AS n (sku_id, buyer_id, units, most)
SELECT k.sku_id, b, q, $4::bigint FROM skus k, unnest($2::text[], $3::bigint[]) AS asked (b, q) WHERE k.sku_id = $1 AND q <= $4
ORDER BY b COLLATE "C"
ON CONFLICT (sku_id, buyer_id) DO UPDATE SET units = n.units + excluded.units, most = excluded.most
    WHERE n.units + excluded.units <= excluded.most;

-- name: uncount_buyers
UPDATE buyers AS n SET units = n.units - back.units
FROM unnest($1::text[], $2::text[], $3::bigint[]) AS back (counted_at, buyer_id, units)
WHERE n.sku_id = ANY ($1::text[]) AND n.sku_id = counted_at AND n.buyer_id = back.buyer_id;

-- name: update_deductions
UPDATE deductions AS d SET status = new.status, quantity = new.quantity, asked = nullif(new.asked, new.quantity),
    committed = nullif(new.committed, 0), expires_at = new.expires_at,
    reserve_micros = CASE WHEN new.expires_at = d.expires_at THEN d.reserve_micros ELSE nullif(new.reserve_micros, 0) END,
    committed_at = CASE WHEN new.status = 'committed' AND d.status <> 'committed' THEN $10::timestamptz ELSE d.committed_at END,
    ended_at = CASE WHEN new.status = 'cancelled' OR new.status = 'returned' THEN $10::timestamptz END,
    written_off = nullif(coalesce(d.written_off, 0) + new.written_off, 0)
FROM unnest($2::text[], $3::text[], $4::integer[], $5::integer[], $6::integer[], $7::integer[], $8::timestamptz[], $9::bigint[])
    AS new (order_id, status, quantity, asked, committed, written_off, expires_at, reserve_micros)
WHERE d.sku_id = $1 AND d.order_id = new.order_id;

-- name: delete_parts
DELETE FROM deduction_parts WHERE sku_id = $1 AND order_id = ANY ($2::text[]);

-- name: insert_amendments
INSERT INTO amendments (sku_id, order_id, ref, kind, returned, extended_micros, reason, created_at)
SELECT k.sku_id, o, r, kind, nullif(u, 0), nullif(e, 0), nullif(why, ''), $8::timestamptz
FROM skus k, unnest($2::text[], $3::text[], $4::text[], $5::integer[], $6::bigint[], $7::text[]) AS new (o, r, kind, u, e, why)
WHERE k.sku_id = $1;

-- name: insert_movement
INSERT INTO movements (sku_id, ref, kind, quantity, segments, terms, reason, created_at)
SELECT k.sku_id, $2, $3, $4, nullif($5::integer, 0), nullif($6, '{}'), $7,
       coalesce((SELECT greatest(at, max(m.created_at) + interval '1 microsecond') FROM movements m WHERE m.sku_id = $1), at)
FROM skus k, (SELECT coalesce($8::timestamptz, clock_timestamp()) AS at) AS decided
WHERE k.sku_id = $1
ON CONFLICT (sku_id, ref) DO NOTHING;

-- name: expire :patient
-- Buyers are updated, not inserted: Citus would not know their shard.
WITH due AS MATERIALIZED (
    SELECT order_id FROM deductions
    WHERE sku_id = $1 AND status = 'reserved' AND expires_at > coalesce($4::timestamptz, '-infinity')
      AND expires_at <= (SELECT coalesce($2::timestamptz, clock_timestamp()))
    ORDER BY expires_at LIMIT $3::bigint
), over AS MATERIALIZED (
    SELECT d.order_id, d.buyer_id, d.quantity, d.segment, d.limited
    FROM unnest(ARRAY(SELECT order_id FROM due ORDER BY order_id)) AS late (order_id)
    CROSS JOIN LATERAL (
        SELECT * FROM deductions WHERE sku_id = $1 AND order_id = late.order_id OFFSET 0 FOR UPDATE
    ) AS d
    WHERE d.status = 'reserved' AND d.expires_at <= (SELECT coalesce($2::timestamptz, clock_timestamp()))
), ended AS (
    UPDATE deductions SET status = 'expired' WHERE sku_id = $1 AND order_id = ANY (ARRAY(SELECT order_id FROM over))
), uncounted AS (
    UPDATE buyers n SET units = n.units - back.units
    FROM (SELECT buyer_id, sum(quantity) AS units FROM over WHERE limited GROUP BY buyer_id) back
    WHERE n.sku_id = $1 AND n.buyer_id = back.buyer_id
), back AS MATERIALIZED (
    SELECT given.segment % (SELECT count(*) FROM stock_segments WHERE sku_id = $1) AS segment, sum(given.quantity) AS units
    FROM (
        SELECT segment, quantity FROM over WHERE segment IS NOT NULL
        UNION ALL
        SELECT p.segment, p.quantity
        FROM over CROSS JOIN LATERAL (
            SELECT segment, quantity FROM deduction_parts WHERE sku_id = $1 AND order_id = over.order_id OFFSET 0
        ) AS p
        WHERE over.segment IS NULL
    ) given
    GROUP BY 1
), returned AS (
    UPDATE stock_segments g
    SET available = g.available + back.units, reserved = g.reserved - back.units, version = g.version + 1
    FROM back
    WHERE g.sku_id = $1 AND g.segment = back.segment
)
SELECT count(*) FROM over
;

-- name: outbox_status :patient
-- Each node has rows of its own. The times are microseconds since 1970.
SELECT (SELECT count(*) = 2 FROM pg_trigger WHERE tgrelid = 'deductions'::regclass
            AND tgname IN ('outbox_inserted', 'outbox_changed') AND tgenabled <> 'D'),
       coalesce(sum((CASE WHEN success THEN result::json->>0 END)::bigint), 0)::bigint, $1::bigint < 0,
       min((CASE WHEN success THEN result::json->>1 END)::bigint), max((CASE WHEN success THEN result::json->>2 END)::bigint)
FROM run_command_on_all_nodes($$
    SELECT json_build_array(count(*), (extract(epoch FROM min(at)) * 1000000)::bigint, (extract(epoch FROM max(at)) * 1000000)::bigint)
    FROM outbox $$);

-- The rest is for orders of several SKUs, which Citus carries out in all shards that they concern. It finds the shards of an
-- update by the array that its key is compared with, and copies rows that are selected from arrays to their shards. Most of the
-- cost is for the statement and for the two phases, not for a row. Therefore orders share these statements.

-- name: share_briefly
-- Orders that share a write hold the rows of many SKUs while they wait.
SET LOCAL lock_timeout = '100ms';

-- name: take_segments
-- In: arrays by row of a segment: $1 sku_ids, $2 segments, $3 layouts, $4 fencing tokens (0: no lock), $5 their owners, $6 units,
--     $7 units of those that are reserved
UPDATE stock_segments g
SET available   = g.available - taken.units,
    reserved    = g.reserved + taken.reserved,
    version     = g.version + 1,
    fence       = CASE WHEN token = 0 THEN g.fence ELSE token END,
    fence_owner = CASE WHEN token = 0 THEN g.fence_owner ELSE owner END
FROM unnest($1::text[], $2::integer[], $3::bigint[], $4::bigint[], $5::text[], $6::bigint[], $7::bigint[])
     AS taken (sku, segment, layout, token, owner, units, reserved)
WHERE g.sku_id = ANY ($1::text[]) AND g.sku_id = sku AND g.segment = taken.segment AND g.layout = taken.layout
  AND g.available >= taken.units AND (token = 0 OR g.fence < token OR (g.fence = token AND g.fence_owner = owner));

-- name: copy_orders
-- In: arrays: $1 order_ids, $2 for how many microseconds each is reserved (0, or null for the array: committed at once), $3 the
--     instants (null: now), $4 buyer_ids ('': none)
INSERT INTO orders (order_id, buyer_id, reserve_micros, created_at)
SELECT id, nullif(buyer_id, ''), coalesce(r, 0), coalesce(at, clock_timestamp())
FROM unnest($1::text[], $2::bigint[], $3::timestamptz[], $4::text[]) AS asked (id, r, at, buyer_id);

-- name: copy_order_lines
-- In: arrays: $1 order_ids, $2 sku_ids, $3 quantities
INSERT INTO order_lines (order_id, sku_id, quantity) SELECT * FROM unnest($1::text[], $2::text[], $3::integer[]);

-- name: copy_deductions
-- In: arrays: $1 sku_ids, $2 order_ids, $3 quantities, $4 for how many microseconds each is reserved (0, or null for the array:
--     committed at once), $5 segments, $6 the instants, $7 buyer_ids
INSERT INTO deductions (sku_id, order_id, quantity, segment, status, expires_at, created_at, in_order, buyer_id)
SELECT sku, o, q, s, CASE WHEN r > 0 THEN 'reserved' ELSE 'committed' END,
       at + nullif(r, 0) * interval '1 microsecond', at, true, nullif(buyer_id, '')
FROM unnest($1::text[], $2::text[], $3::integer[], $4::bigint[], $5::integer[], $6::timestamptz[], $7::text[])
     AS asked (sku, o, q, r, s, at, buyer_id);
