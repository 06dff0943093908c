-- Take batches of orders of different SKUs that have a buyer limit, each from one segment: of each batch all orders, or none.
-- Each batch is decided by its own row and its own buyers, as in deduct_limited.sql.
--
-- In:  $1 to $15 as in deduct_shared.sql, $16 an array of the limits of the batches, $17 buyer_ids, none
--      twice in a batch
-- Out: one row of arrays, null if they are empty. Of the batches that are written: their numbers, what the segments held, and
--      the instants of the decisions; the same numbers, how many orders, and how many units. Then the numbers of the batches
--      whose rows were locked.
--      It fails by inventory_require if it ends after the deadline or the end of a sale, or if what it has read is not so any more.
--
-- A batch is written if all its orders are new and all its buyers have room. That is read first, without a wait, so that one
-- buyer who wants too much, or one order that is known, keeps out only its own batch. Then the buyers are counted, which may
-- wait for their rows, and the orders are inserted, as in deduct_limited.sql. If another transaction has sold to a buyer or
-- inserted an order id meanwhile, the numbers do not agree at the end or the insert fails, and nothing is written.
--
-- It waits for no segment's row, and for buyers and order ids no longer than $11: see deduct_shared.sql. Segments are locked
-- before buyers, and buyers in ascending order, before orders.
WITH locked AS MATERIALIZED (
    SELECT n, sku, g.segment AS s, available, units, given, starts, ends, most
    FROM unnest($1::text[], $2::integer[], $3::bigint[], $4::bigint[], $5::text[], $6::bigint[], $7::timestamptz[],
                $8::timestamptz[], $9::timestamptz[], $16::bigint[])
         WITH ORDINALITY AS batch (sku, segment, layout, token, owner, units, starts, ends, given, most, n)
    JOIN stock_segments g ON g.sku_id = sku AND g.segment = batch.segment AND g.layout = batch.layout
        AND (token = 0 OR g.fence < token OR (g.fence = token AND g.fence_owner = owner))
    FOR UPDATE OF g SKIP LOCKED
), bounded AS MATERIALIZED (
    SELECT set_config('lock_timeout', $11, true)
), asked AS MATERIALIZED (
    SELECT orders.*, sku AS of_sku, most
    FROM locked, bounded, unnest($12::bigint[], $13::text[], $14::integer[], $15::bigint[], $17::text[]) AS orders (of, o, q, r, buyer_id)
    WHERE of = n AND available >= units AND (starts IS NULL OR coalesce(given, clock_timestamp()) >= starts)
      AND (ends IS NULL OR coalesce(given, clock_timestamp()) < ends)
), fresh AS MATERIALIZED (
    SELECT of FROM asked
    GROUP BY of
    HAVING bool_and(
        buyer_id <> '' AND q <= most
        AND (SELECT true FROM deductions d WHERE d.sku_id = of_sku AND d.order_id = o) IS NULL
        AND coalesce((SELECT b.units + q <= most FROM buyers b WHERE b.sku_id = of_sku AND b.buyer_id = asked.buyer_id), true))
), counted AS (
    INSERT INTO buyers AS b (sku_id, buyer_id, units, most)
    SELECT of_sku, buyer_id, q, most FROM asked WHERE of IN (SELECT of FROM fresh)
    ORDER BY of_sku COLLATE "C", buyer_id COLLATE "C"
    ON CONFLICT (sku_id, buyer_id) DO UPDATE SET units = b.units + excluded.units, most = excluded.most
        WHERE b.units + excluded.units <= excluded.most
    RETURNING sku_id
), decided AS MATERIALIZED (
    SELECT n, sku, s, available, starts, ends, CASE WHEN buyers >= 0 THEN coalesce(given, clock_timestamp()) END AS at
    FROM locked, (SELECT count(*) AS buyers FROM counted) AS waited
    WHERE n IN (SELECT of FROM fresh)
), inserted AS (
    INSERT INTO deductions (sku_id, order_id, quantity, segment, status, expires_at, created_at, limited, buyer_id)
    SELECT sku, o, q, s, CASE WHEN r > 0 THEN 'reserved' ELSE 'committed' END,
           at + nullif(r, 0) * interval '1 microsecond', at, true, nullif(buyer_id, '')
    FROM decided JOIN asked ON of = n
    WHERE (starts IS NULL OR at >= starts) AND (ends IS NULL OR at < ends)
    ORDER BY sku COLLATE "C", o COLLATE "C"
    RETURNING sku_id, quantity, status
), taken AS MATERIALIZED (
    SELECT n, sku_id, segment, token, owner, ends, given, orders, units, reserved
    FROM (SELECT sku_id, count(*) AS orders, sum(quantity) AS units,
                 coalesce(sum(quantity) FILTER (WHERE status = 'reserved'), 0) AS reserved
          FROM inserted GROUP BY sku_id) AS sums
    JOIN unnest($1, $2, $4, $5, $8, $9) WITH ORDINALITY AS batch (sku, segment, token, owner, ends, given, n) ON sku = sku_id
), updated AS (
    UPDATE stock_segments g
    SET available   = available - inventory_require(
                          ($10::timestamptz IS NULL OR clock_timestamp() <= $10)
                          AND (ends IS NULL OR coalesce(given, clock_timestamp()) < ends),
                          taken.units),
        reserved    = g.reserved + taken.reserved,
        version     = version + 1,
        fence       = CASE WHEN token = 0 THEN fence ELSE token END,
        fence_owner = CASE WHEN token = 0 THEN fence_owner ELSE owner END
    FROM taken
    WHERE g.sku_id = taken.sku_id AND g.segment = taken.segment
), agreed AS MATERIALIZED (
    SELECT (SELECT count(*) FROM asked WHERE of IN (SELECT of FROM fresh)) AS wanted,
           (SELECT count(*) FROM counted) AS buyers, (SELECT count(*) FROM inserted) AS orders
)
SELECT had.*, gave.*, held.*
FROM (SELECT array_agg(n), array_agg(available), array_agg(at) FROM decided) AS had,
     (SELECT array_agg(n), array_agg(orders), array_agg(units) FROM taken) AS gave,
     (SELECT array_agg(n) FROM locked) AS held,
     agreed
WHERE inventory_require(buyers = wanted AND agreed.orders = wanted, 1) = 1
