-- Settle all lines of an order of several SKUs in one statement, if it is the usual order: each line is a reservation that has not
-- expired and was never changed, and changes no other row than these statements say. Of any other order they change nothing, and return no row.
--
-- In:  @keys that the order may have: the first one of an order counts, @buyer_id only of an order of this buyer ('': of any),
--      @at the instant of the decision (null: now), @deadline, @wait how long each row is waited for
-- Out: the lines as they are then, ascending by SKU: deductions, each with the instant.
--      They fail by inventory_require if they end after the deadline.
--
-- Rows are locked as everywhere: SKU by SKU, ascending, the segments and then the deduction; a SKU's own row last of all. The clock is
-- read once the deductions are locked.

-- piece: placed
WITH bounded AS MATERIALIZED (
    SELECT set_config('lock_timeout', @wait, true)
), placed AS MATERIALIZED (
    SELECT o.order_id, ARRAY(SELECT l.sku_id FROM order_lines l WHERE l.order_id = o.order_id ORDER BY l.sku_id) AS skus
    FROM bounded, unnest(@keys::text[]) WITH ORDINALITY AS asked (id, n)
    CROSS JOIN LATERAL (SELECT * FROM orders WHERE order_id = asked.id OFFSET 0) AS o
    WHERE NOT o.pruned AND (@buyer_id = '' OR o.buyer_id = @buyer_id)
    ORDER BY n LIMIT 1
),

-- piece: written
done AS MATERIALIZED (
    SELECT inventory_require(@deadline::timestamptz IS NULL OR clock_timestamp() <= @deadline, count(*))
    FROM written, (SELECT count(*) FROM changed) AS all_lines
)
SELECT d.sku_id, d.order_id, d.quantity, coalesce(d.asked, d.quantity), d.status, d.created_at, d.committed_at, d.expires_at, d.reserve_micros,
       coalesce(d.committed, 0), coalesce(d.buyer_id, ''), d.at
FROM changed d, done ORDER BY d.sku_id;

-- name: commit_order
-- include placed
held AS MATERIALIZED (
    SELECT d.sku_id, d.order_id, d.expires_at
    FROM placed, unnest(skus) AS line (sku)
    CROSS JOIN LATERAL (SELECT * FROM deductions WHERE sku_id = sku AND order_id = placed.order_id OFFSET 0 FOR UPDATE) AS d
    WHERE d.status = 'reserved' AND d.revision IS NULL
), decided AS MATERIALIZED (
    SELECT at
    FROM placed, (SELECT coalesce(@at::timestamptz, clock_timestamp()) AS at, count(*) AS lines, min(expires_at) AS until FROM held) AS found
    WHERE lines = cardinality(skus) AND at < until
), changed AS (
    UPDATE deductions d SET status = 'committed', committed_at = at
    FROM decided, held WHERE d.sku_id = held.sku_id AND d.order_id = held.order_id
    RETURNING d.*, at
), written AS (
    UPDATE skus k SET kept = k.kept + line.quantity
    FROM (SELECT sku_id, quantity FROM changed ORDER BY sku_id) AS line WHERE k.sku_id = line.sku_id
    RETURNING 1
),
-- include written

-- name: cancel_order
--
-- The units go back to the segments that gave them. If one of them is gone, or the buyer is counted, it is not the usual order.
-- include placed
held AS MATERIALIZED (
    SELECT d.sku_id, d.order_id, d.expires_at, d.limited, g.segments, g.units, g.same
    FROM placed, unnest(skus) AS line (sku)
    CROSS JOIN LATERAL (SELECT * FROM deductions WHERE sku_id = sku AND order_id = placed.order_id OFFSET 0) AS seen
    CROSS JOIN LATERAL (
        SELECT array_agg(part.segment) AS segments, array_agg(part.units) AS units, sum(part.units) AS all_units,
               bool_and(locked.layout = (SELECT s.layout FROM stock_segments s WHERE s.sku_id = sku AND s.segment = part.segment)) AS same
        FROM (
            SELECT seen.segment, seen.quantity WHERE seen.segment IS NOT NULL
            UNION ALL
            (SELECT segment, quantity FROM deduction_parts
             WHERE sku_id = sku AND order_id = placed.order_id AND seen.segment IS NULL ORDER BY segment)
        ) AS part (segment, units)
        CROSS JOIN LATERAL (SELECT layout FROM stock_segments WHERE sku_id = sku AND segment = part.segment OFFSET 0 FOR UPDATE) AS locked
    ) AS g
    CROSS JOIN LATERAL (
        SELECT * FROM deductions WHERE sku_id = sku AND order_id = placed.order_id AND quantity = g.all_units OFFSET 0 FOR UPDATE
    ) AS d
    WHERE d.status = 'reserved' AND d.revision IS NULL
), decided AS MATERIALIZED (
    SELECT at
    FROM placed, (
        SELECT coalesce(@at::timestamptz, clock_timestamp()) AS at, count(*) AS lines, min(expires_at) AS until,
               bool_and(same AND limited IS NOT TRUE) AS uncounted
        FROM held
    ) AS found
    WHERE lines = cardinality(skus) AND at < until AND uncounted
), written AS (
    UPDATE stock_segments g
    SET available = g.available + part.units, reserved = g.reserved - part.units, version = g.version + 1
    FROM decided, held, unnest(segments, units) AS part (segment, units) WHERE g.sku_id = held.sku_id AND g.segment = part.segment
    RETURNING pg_notify('inventory_restocked', g.sku_id)
), changed AS (
    UPDATE deductions d SET status = 'cancelled', ended_at = at
    FROM decided, held WHERE d.sku_id = held.sku_id AND d.order_id = held.order_id
    RETURNING d.*, at
),
-- include written

-- name: extend_order
-- In: @ref, @extend_micros for how many microseconds from the decision on, @most_micros how many it may be where the SKU does not say
--     (0: any), @reason ('': none)
--
-- It fails by a key if a line has an amendment of this ref. If one of the lines would not end later, it is not the usual order.
-- include placed
held AS MATERIALIZED (
    SELECT d.sku_id, d.order_id, d.expires_at
    FROM placed, unnest(skus) AS line (sku)
    CROSS JOIN LATERAL (SELECT * FROM skus WHERE sku_id = sku OFFSET 0) AS k
    CROSS JOIN LATERAL (SELECT * FROM deductions WHERE sku_id = k.sku_id AND order_id = placed.order_id OFFSET 0 FOR UPDATE) AS d
    WHERE d.status = 'reserved' AND d.revision IS NULL
      AND @extend_micros::bigint <= coalesce(k.max_reserve_us, nullif(@most_micros::bigint, 0), @extend_micros)
), decided AS MATERIALIZED (
    SELECT at, at + @extend_micros * interval '1 microsecond' AS later
    FROM placed, (
        SELECT coalesce(@at::timestamptz, clock_timestamp()) AS at, count(*) AS lines, min(expires_at) AS until, max(expires_at) AS latest
        FROM held
    ) AS found
    WHERE lines = cardinality(skus) AND at < until AND at + @extend_micros * interval '1 microsecond' > latest
), changed AS (
    UPDATE deductions d
    SET expires_at = later,
        reserve_micros = coalesce(d.reserve_micros, (extract(epoch FROM d.expires_at - d.created_at) * 1000000)::bigint)
    FROM decided, held WHERE d.sku_id = held.sku_id AND d.order_id = held.order_id
    RETURNING d.*, at
), written AS (
    INSERT INTO amendments (sku_id, order_id, ref, kind, extended_micros, reason, created_at)
    SELECT sku_id, order_id, @ref, 'extend', @extend_micros, nullif(@reason, ''), at FROM changed
    RETURNING 1
),
-- include written
