-- Statements that Citus carries out for the coordinator, in place of those of package postgres, which explain In and Out.
--
-- Citus routes a statement by a comparison of each table's key, and an insert by the key of the rows that it selects from: never
-- by a parameter among the values. Parts of a WITH that write would be carried out one after another.

-- name: insert_deductions
-- In: @sku_id, @order_ids, @quantities, @reserve_micros, @segments, @at, @in_order, @limited, @buyer_ids
INSERT INTO deductions (sku_id, order_id, quantity, segment, status, expires_at, created_at, in_order, limited, buyer_id)
SELECT k.sku_id, o, q, s, CASE WHEN r > 0 THEN 'reserved' ELSE 'committed' END,
       at + nullif(r, 0) * interval '1 microsecond', at,
       nullif(@in_order::boolean, false), nullif(@limited::boolean, false), nullif(buyer_id, '')
FROM skus k, (SELECT @at::timestamptz AS at) AS decided,
     unnest(@order_ids::text[], @quantities::integer[], @reserve_micros::bigint[], @segments::integer[], @buyer_ids::text[])
     AS asked (o, q, r, s, buyer_id)
WHERE k.sku_id = @sku_id
ORDER BY o COLLATE "C"
ON CONFLICT (sku_id, order_id) DO NOTHING;

-- name: insert_parts
-- In: @sku_id, @order_ids, @segments, @quantities
INSERT INTO deduction_parts (sku_id, order_id, segment, quantity)
SELECT k.sku_id, o, s, q
FROM skus k, unnest(@order_ids::text[], @segments::integer[], @quantities::integer[]) AS part (o, s, q)
WHERE k.sku_id = @sku_id;

-- name: count_buyers
-- In: @counted_at, @buyer_ids, @units, @per_buyer_limit
INSERT INTO buyers AS n (sku_id, buyer_id, units, most)
SELECT k.sku_id, b, q, @per_buyer_limit::bigint
FROM skus k, unnest(@buyer_ids::text[], @units::bigint[]) AS asked (b, q)
WHERE k.sku_id = @counted_at AND q <= @per_buyer_limit
ORDER BY b COLLATE "C"
ON CONFLICT (sku_id, buyer_id) DO UPDATE SET units = n.units + excluded.units, most = excluded.most
    WHERE n.units + excluded.units <= excluded.most;

-- name: uncount_buyers
-- In: @counts, @buyer_ids, @units
UPDATE buyers AS n SET units = n.units - back.units
FROM unnest(@counts::text[], @buyer_ids::text[], @units::bigint[]) AS back (counted_at, buyer_id, units)
WHERE n.sku_id = ANY (@counts::text[]) AND n.sku_id = counted_at AND n.buyer_id = back.buyer_id;

-- name: update_deductions
-- In: @sku_id, @order_ids, @statuses, @quantities, @asked, @committed, @written_off, @expiries, @reserve_micros, @at
UPDATE deductions AS d SET status = new.status, quantity = new.quantity, asked = nullif(new.asked, new.quantity),
    committed = nullif(new.committed, 0), expires_at = new.expires_at,
    reserve_micros = CASE WHEN new.expires_at = d.expires_at THEN d.reserve_micros ELSE nullif(new.reserve_micros, 0) END,
    committed_at = CASE WHEN new.status = 'committed' AND d.status <> 'committed' THEN @at::timestamptz ELSE d.committed_at END,
    ended_at = CASE WHEN new.status = 'cancelled' OR new.status = 'returned' THEN @at::timestamptz END,
    written_off = nullif(coalesce(d.written_off, 0) + new.written_off, 0)
FROM unnest(@order_ids::text[], @statuses::text[], @quantities::integer[], @asked::integer[], @committed::integer[],
            @written_off::integer[], @expiries::timestamptz[], @reserve_micros::bigint[])
    AS new (order_id, status, quantity, asked, committed, written_off, expires_at, reserve_micros)
WHERE d.sku_id = @sku_id AND d.order_id = new.order_id;

-- name: delete_parts
-- In: @sku_id, @order_ids
DELETE FROM deduction_parts WHERE sku_id = @sku_id AND order_id = ANY (@order_ids::text[]);

-- name: insert_amendments
-- In: @sku_id, @order_ids, @refs, @kinds, @returned, @extended_micros, @reasons, @at
INSERT INTO amendments (sku_id, order_id, ref, kind, returned, extended_micros, reason, created_at)
SELECT k.sku_id, o, r, kind, nullif(u, 0), nullif(e, 0), nullif(why, ''), @at::timestamptz
FROM skus k, unnest(@order_ids::text[], @refs::text[], @kinds::text[], @returned::integer[], @extended_micros::bigint[], @reasons::text[])
     AS new (o, r, kind, u, e, why)
WHERE k.sku_id = @sku_id;

-- name: insert_movement
-- In: @sku_id, @ref, @kind, @quantity, @segments, @terms, @reason, @at
INSERT INTO movements (sku_id, ref, kind, quantity, segments, terms, reason, created_at)
SELECT k.sku_id, @ref, @kind, @quantity, nullif(@segments::integer, 0), nullif(@terms, '{}'), @reason,
       coalesce((SELECT greatest(at, max(m.created_at) + interval '1 microsecond') FROM movements m WHERE m.sku_id = @sku_id), at)
FROM skus k, (SELECT coalesce(@at::timestamptz, clock_timestamp()) AS at) AS decided
WHERE k.sku_id = @sku_id
ON CONFLICT (sku_id, ref) DO NOTHING;

-- name: expire :patient
-- In: @sku_id, @at, @limit, @swept
--
-- Buyers are updated, not inserted: Citus would not know their shard.
WITH due AS MATERIALIZED (
    SELECT order_id FROM deductions
    WHERE sku_id = @sku_id AND status = 'reserved' AND expires_at > coalesce(@swept::timestamptz, '-infinity')
      AND expires_at <= (SELECT coalesce(@at::timestamptz, clock_timestamp()))
    ORDER BY expires_at LIMIT @limit::bigint
), over AS MATERIALIZED (
    SELECT d.order_id, d.buyer_id, d.quantity, d.segment, d.limited
    FROM unnest(ARRAY(SELECT order_id FROM due ORDER BY order_id)) AS late (order_id)
    CROSS JOIN LATERAL (
        SELECT * FROM deductions WHERE sku_id = @sku_id AND order_id = late.order_id OFFSET 0 FOR UPDATE
    ) AS d
    WHERE d.status = 'reserved' AND d.expires_at <= (SELECT coalesce(@at::timestamptz, clock_timestamp()))
), ended AS (
    UPDATE deductions SET status = 'expired' WHERE sku_id = @sku_id AND order_id = ANY (ARRAY(SELECT order_id FROM over))
), uncounted AS (
    UPDATE buyers n SET units = n.units - back.units
    FROM (SELECT buyer_id, sum(quantity) AS units FROM over WHERE limited GROUP BY buyer_id) back
    WHERE n.sku_id = @sku_id AND n.buyer_id = back.buyer_id
), back AS MATERIALIZED (
    SELECT given.segment % (SELECT count(*) FROM stock_segments WHERE sku_id = @sku_id) AS segment, sum(given.quantity) AS units
    FROM (
        SELECT segment, quantity FROM over WHERE segment IS NOT NULL
        UNION ALL
        SELECT p.segment, p.quantity
        FROM over CROSS JOIN LATERAL (
            SELECT segment, quantity FROM deduction_parts WHERE sku_id = @sku_id AND order_id = over.order_id OFFSET 0
        ) AS p
        WHERE over.segment IS NULL
    ) given
    GROUP BY 1
), returned AS (
    UPDATE stock_segments g
    SET available = g.available + back.units, reserved = g.reserved - back.units, version = g.version + 1
    FROM back
    WHERE g.sku_id = @sku_id AND g.segment = back.segment
)
SELECT count(*) FROM over
;

-- name: outbox_status :patient
-- In: @limit
--
-- Each node has rows of its own. The times are microseconds since 1970.
SELECT (SELECT count(*) = 2 FROM pg_trigger WHERE tgrelid = 'deductions'::regclass
            AND tgname IN ('outbox_inserted', 'outbox_changed') AND tgenabled <> 'D'),
       coalesce(sum((CASE WHEN success THEN result::json->>0 END)::bigint), 0)::bigint, @limit::bigint < 0,
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
-- In: arrays by row of a segment: @sku_ids, @segments, @layouts, @tokens the fencing tokens (0: no lock), @owners of the tokens, @units,
--     @reserved how many of them are reserved
UPDATE stock_segments g
SET available   = g.available - taken.units,
    reserved    = g.reserved + taken.reserved,
    version     = g.version + 1,
    fence       = CASE WHEN token = 0 THEN g.fence ELSE token END,
    fence_owner = CASE WHEN token = 0 THEN g.fence_owner ELSE owner END
FROM unnest(@sku_ids::text[], @segments::integer[], @layouts::bigint[], @tokens::bigint[], @owners::text[], @units::bigint[],
            @reserved::bigint[])
     AS taken (sku, segment, layout, token, owner, units, reserved)
WHERE g.sku_id = ANY (@sku_ids::text[]) AND g.sku_id = sku AND g.segment = taken.segment AND g.layout = taken.layout
  AND g.available >= taken.units AND (token = 0 OR g.fence < token OR (g.fence = token AND g.fence_owner = owner));

-- name: copy_orders
-- In: arrays: @order_ids, @reserve_micros for how many microseconds each is reserved (0, or null for the array: committed at once),
--     @instants (null: now), @buyer_ids ('': none)
INSERT INTO orders (order_id, buyer_id, reserve_micros, created_at)
SELECT id, nullif(buyer_id, ''), coalesce(r, 0), coalesce(at, clock_timestamp())
FROM unnest(@order_ids::text[], @reserve_micros::bigint[], @instants::timestamptz[], @buyer_ids::text[]) AS asked (id, r, at, buyer_id);

-- name: copy_order_lines
-- In: arrays: @order_ids, @sku_ids, @quantities
INSERT INTO order_lines (order_id, sku_id, quantity) SELECT * FROM unnest(@order_ids::text[], @sku_ids::text[], @quantities::integer[]);

-- name: copy_deductions
-- In: arrays: @sku_ids, @order_ids, @quantities, @reserve_micros for how many microseconds each is reserved (0, or null for the array:
--     committed at once), @segments, @instants, @buyer_ids
INSERT INTO deductions (sku_id, order_id, quantity, segment, status, expires_at, created_at, in_order, buyer_id)
SELECT sku, o, q, s, CASE WHEN r > 0 THEN 'reserved' ELSE 'committed' END,
       at + nullif(r, 0) * interval '1 microsecond', at, true, nullif(buyer_id, '')
FROM unnest(@sku_ids::text[], @order_ids::text[], @quantities::integer[], @reserve_micros::bigint[], @segments::integer[],
            @instants::timestamptz[], @buyer_ids::text[])
     AS asked (sku, o, q, r, s, at, buyer_id);
