-- Reservations that have expired.

-- name: has_expired
-- In:  @sku_id, @at the instant (null: now), @swept until when no reservation is live (null: not known)
-- Out: whether reservations have expired whose units are not back
SELECT EXISTS (
    SELECT 1 FROM deductions
    WHERE sku_id = @sku_id AND status = 'reserved' AND expires_at > coalesce(@swept::timestamptz, '-infinity')
      AND expires_at <= (SELECT coalesce(@at::timestamptz, clock_timestamp())));

-- name: next_expiry
-- In:  @sku_id, @at the instant (null: now), @swept until when no reservation is live (null: not known), @units
-- Out: the earliest expiry of a reservation; null: there is none. If more than these units are left, it is null unless it has passed: the
--      search for a later one may be long.
--
-- It reads the first entry of the index. For min(), a planner that expects one row would read all of them. While an old snapshot is open
-- the index keeps the entries of all reservations that have ended.
SELECT (SELECT expires_at FROM deductions
        WHERE sku_id = @sku_id AND status = 'reserved' AND expires_at > coalesce(@swept::timestamptz, '-infinity')
          AND expires_at <= (SELECT CASE WHEN sum(available) > @units::bigint THEN coalesce(@at::timestamptz, clock_timestamp())
                                         ELSE 'infinity' END FROM stock_segments WHERE sku_id = @sku_id)
        ORDER BY expires_at LIMIT 1);

-- name: skus_with_expired
-- In:  @at the instant (null: now), @swept until when no reservation is live (null: not known), @limit how many reservations
-- Out: of the first to expire: sku_id, the earliest expiry; the earliest first
SELECT sku_id, min(expires_at)
FROM (
    SELECT sku_id, expires_at FROM deductions
    WHERE status = 'reserved' AND expires_at > coalesce(@swept::timestamptz, '-infinity')
      AND expires_at <= (SELECT coalesce(@at::timestamptz, clock_timestamp()))
    ORDER BY expires_at LIMIT @limit::bigint
) AS first
GROUP BY sku_id ORDER BY min(expires_at), sku_id;

-- name: expire :patient
-- Give back the units of reservations that have expired. The caller holds the rows of all segments of the SKU.
--
-- In:  @sku_id, @at the instant (null: now), @limit the largest number of reservations, @swept until when no reservation is live
--      (null: not known)
-- Out: the number of reservations
--
-- A commit or an extension of reservations locks their rows and no segment's. So the rows are locked here, in ascending order,
-- and those that turn out to be committed, or to end later, are left out. So are those whose rows another transaction holds: they are
-- found the next time. If a segment no longer exists, another one takes its units, as in stock.Returns.
--
-- Each row is looked up by itself: for a join with a CTE, the plan would expect one row, and read the whole SKU to find it.
-- Buyers' rows are locked in ascending order, as where they are counted. A reservation may have been extended after this
-- snapshot and before its row was locked here. So the update finds it by its key: by its ctid in the snapshot the update would
-- miss it, and its units would come back again.
WITH due AS MATERIALIZED (
    SELECT order_id FROM deductions
    WHERE sku_id = @sku_id AND status = 'reserved' AND expires_at > coalesce(@swept::timestamptz, '-infinity')
      AND expires_at <= (SELECT coalesce(@at::timestamptz, clock_timestamp()))
    ORDER BY expires_at LIMIT @limit::bigint
), over AS MATERIALIZED (
    SELECT d.order_id, d.buyer_id, d.quantity, d.segment, d.limited, coalesce(d.counted_at, d.sku_id) AS counted_at
    FROM unnest(ARRAY(SELECT order_id FROM due ORDER BY order_id)) AS late (order_id)
    CROSS JOIN LATERAL (
        SELECT * FROM deductions WHERE sku_id = @sku_id AND order_id = late.order_id OFFSET 0 FOR UPDATE SKIP LOCKED
    ) AS d
    WHERE d.status = 'reserved' AND d.expires_at <= (SELECT coalesce(@at::timestamptz, clock_timestamp()))
), ended AS (
    UPDATE deductions SET status = 'expired' WHERE sku_id = @sku_id AND order_id = ANY (ARRAY(SELECT order_id FROM over))
), uncounted AS (
    INSERT INTO buyers AS n (sku_id, buyer_id, units, most)
    SELECT counted_at, buyer_id, 0, sum(quantity) FROM over WHERE limited GROUP BY counted_at, buyer_id ORDER BY counted_at, buyer_id
    ON CONFLICT (sku_id, buyer_id) DO UPDATE SET units = n.units - excluded.most
), back AS (
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

-- name: lock_rows_of_expired :patient
-- Lock the rows to which the units of expired reservations of many SKUs come back, as far as nobody holds them. It waits for nobody.
--
-- In:  @sku_ids, @at the instant (null: now), @limit the largest number of reservations of each, @swept until when no reservation is live
--      (null: not known)
-- Out: sku_id, segment of each row that is locked now
--
-- Units that several segments gave, or that count for a buyer, come back under the locks of all rows: see expire. The commit does not wait
-- for the disk: if it is lost, so are all later ones, and the reservations expire again.
WITH soon AS MATERIALIZED (
    SELECT set_config('synchronous_commit', 'off', true)
), due AS MATERIALIZED (
    SELECT asked.sku_id, bool_or(first.segment IS NULL OR first.limited IS TRUE) AS needs_all,
           array_agg(first.segment % g.layout) AS segments
    FROM soon CROSS JOIN unnest(@sku_ids::text[]) AS asked (sku_id)
    CROSS JOIN LATERAL (SELECT count(*) AS layout FROM stock_segments WHERE sku_id = asked.sku_id) AS g
    CROSS JOIN LATERAL (
        SELECT segment, limited FROM deductions
        WHERE sku_id = asked.sku_id AND status = 'reserved' AND expires_at > coalesce(@swept::timestamptz, '-infinity')
          AND expires_at <= (SELECT coalesce(@at::timestamptz, clock_timestamp()))
        ORDER BY expires_at LIMIT @limit::bigint
    ) AS first
    GROUP BY asked.sku_id
)
SELECT g.sku_id, g.segment
FROM (SELECT * FROM due ORDER BY sku_id) AS due
CROSS JOIN LATERAL (
    SELECT sku_id, segment FROM stock_segments
    WHERE sku_id = due.sku_id AND (due.needs_all OR segment = ANY (due.segments)) ORDER BY segment FOR UPDATE SKIP LOCKED
) AS g;

-- name: expire_free :patient
-- The work of expire for many SKUs at once, for the reservations whose rows are locked.
--
-- In:  arrays of the rows that the caller holds: @sku_ids, @segments; @at the instant (null: now), @limit the largest number of
--      reservations of each SKU, @swept until when no reservation is live (null: not known)
-- Out: sku_id, the number of reservations, whether each row held nothing to which units came back; no row for a SKU without
--
-- The rows of a SKU are counted by this snapshot: while one is locked, their number does not change. A reservation whose buyer's row
-- another transaction holds is left out.
WITH rows AS MATERIALIZED (
    SELECT held.sku_id, held.segments, cardinality(held.segments) = g.layout AS them_all, g.layout
    FROM (SELECT sku_id, array_agg(segment) AS segments
          FROM unnest(@sku_ids::text[], @segments::integer[]) AS one (sku_id, segment) GROUP BY sku_id) AS held
    CROSS JOIN LATERAL (SELECT count(*) AS layout FROM stock_segments WHERE sku_id = held.sku_id) AS g
), over AS MATERIALIZED (
    SELECT d.sku_id, d.order_id, d.buyer_id, d.quantity, d.segment, d.limited, coalesce(d.counted_at, d.sku_id) AS counted_at
    FROM rows
    CROSS JOIN LATERAL (
        SELECT * FROM deductions
        WHERE sku_id = rows.sku_id AND status = 'reserved' AND expires_at > coalesce(@swept::timestamptz, '-infinity')
          AND expires_at <= (SELECT coalesce(@at::timestamptz, clock_timestamp()))
        ORDER BY expires_at LIMIT @limit::bigint FOR UPDATE SKIP LOCKED
    ) AS d
    LEFT JOIN LATERAL (
        SELECT true AS free FROM buyers
        WHERE d.limited AND rows.them_all AND sku_id = coalesce(d.counted_at, d.sku_id) AND buyer_id = d.buyer_id OFFSET 0 FOR UPDATE SKIP LOCKED
    ) AS n ON true
    WHERE (rows.them_all OR d.segment % rows.layout = ANY (rows.segments)) AND (d.limited IS NOT TRUE OR n.free)
), ended AS (
    UPDATE deductions d SET status = 'expired' FROM over WHERE d.sku_id = over.sku_id AND d.order_id = over.order_id
), uncounted AS (
    INSERT INTO buyers AS n (sku_id, buyer_id, units, most)
    SELECT counted_at, buyer_id, 0, sum(quantity) FROM over WHERE limited GROUP BY counted_at, buyer_id ORDER BY counted_at, buyer_id
    ON CONFLICT (sku_id, buyer_id) DO UPDATE SET units = n.units - excluded.most
), back AS (
    SELECT given.sku_id, given.segment % rows.layout AS segment, sum(given.quantity) AS units
    FROM (
        SELECT sku_id, segment, quantity FROM over WHERE segment IS NOT NULL
        UNION ALL
        SELECT over.sku_id, p.segment, p.quantity
        FROM over CROSS JOIN LATERAL (
            SELECT segment, quantity FROM deduction_parts WHERE sku_id = over.sku_id AND order_id = over.order_id OFFSET 0
        ) AS p
        WHERE over.segment IS NULL
    ) given JOIN rows USING (sku_id)
    GROUP BY 1, 2
), returned AS (
    UPDATE stock_segments g
    SET available = g.available + back.units, reserved = g.reserved - back.units, version = g.version + 1
    FROM back
    WHERE g.sku_id = back.sku_id AND g.segment = back.segment
    RETURNING g.sku_id, g.available = back.units AS was_empty
)
SELECT sku_id, sum(reservations), coalesce(bool_and(was_empty), true)
FROM (
    SELECT sku_id, 1 AS reservations, NULL::boolean AS was_empty FROM over
    UNION ALL
    SELECT sku_id, 0, was_empty FROM returned
) AS one
GROUP BY sku_id;
