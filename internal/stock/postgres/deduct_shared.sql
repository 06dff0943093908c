-- Take batches of orders of different SKUs, each from one segment: of each batch all orders, or none. Each batch is decided
-- by its own row, as in deduct.sql. For SKUs without a buyer limit.
--
-- In:  arrays with an element for each batch: $1 sku_ids, each once, $2 segments, $3 layouts, $4 fencing tokens (0: no lock),
--      $5 their owners, $6 sums of the quantities, $7 and $8 the beginnings and the ends of the sales (null: none), $9 the
--      instants of the decisions (null: now);
--      $10 the deadline, the earliest of all, $11 how long an insert may wait for another one of the same order id;
--      arrays with an element for each order: $12 the numbers of their batches, from 1, $13 order ids, $14 quantities,
--      $15 for how many microseconds each is reserved (0, or null for the array: committed at once), $16 buyer_ids
-- Out: one row of arrays, null if they are empty. Of the batches whose rows were locked: their numbers, what the segments
--      held, and the instants of the decisions. Of those that inserted orders: their numbers, how many orders, and how many
--      units. If some orders were not inserted: the SKUs and ids of those that were.
--      It fails by inventory_require if it ends after the deadline or the end of a sale.
--
-- It skips a row that another transaction holds, and a batch whose layout or fence does not match has no row. So it waits
-- for no segment's row. It waits for an order id that another transaction has inserted and not committed, and that transaction
-- may want a row that is locked here. The bound on the wait ends such a deadlock, and bounds the delay for the other batches.
--
-- The planner knows no size of what unnest returns, and assumes one that is large enough for hash joins. That is intended:
-- hundreds of batches must not be compared row by row.
WITH locked AS MATERIALIZED (
    SELECT n, sku, g.segment AS s, available, units, given, starts, ends
    FROM unnest($1::text[], $2::integer[], $3::bigint[], $4::bigint[], $5::text[], $6::bigint[], $7::timestamptz[],
                $8::timestamptz[], $9::timestamptz[])
         WITH ORDINALITY AS batch (sku, segment, layout, token, owner, units, starts, ends, given, n)
    JOIN stock_segments g ON g.sku_id = sku AND g.segment = batch.segment AND g.layout = batch.layout
        AND (token = 0 OR g.fence < token OR (g.fence = token AND g.fence_owner = owner))
    FOR UPDATE OF g SKIP LOCKED
), bounded AS MATERIALIZED (
    SELECT set_config('lock_timeout', $11, true)
), decided AS MATERIALIZED (
    SELECT n, sku, s, available, units, starts, ends, coalesce(given, clock_timestamp()) AS at FROM locked, bounded
), inserted AS (
    INSERT INTO deductions (sku_id, order_id, quantity, segment, status, expires_at, created_at, buyer_id)
    SELECT sku, o, q, s, CASE WHEN r > 0 THEN 'reserved' ELSE 'committed' END,
           at + nullif(r, 0) * interval '1 microsecond', at, nullif(buyer_id, '')
    FROM decided JOIN unnest($12::bigint[], $13::text[], $14::integer[], $15::bigint[], $16::text[]) AS asked (of, o, q, r, buyer_id)
        ON of = n
    WHERE available >= units AND (starts IS NULL OR at >= starts) AND (ends IS NULL OR at < ends)
    ORDER BY sku COLLATE "C", o COLLATE "C"
    ON CONFLICT (sku_id, order_id) DO NOTHING
    RETURNING sku_id, order_id, quantity, status
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
)
SELECT had.*, gave.*, ids.*
FROM (SELECT array_agg(n), array_agg(available), array_agg(at) FROM decided) AS had,
     (SELECT array_agg(n), array_agg(orders), array_agg(units) FROM taken) AS gave,
     (SELECT array_agg(sku_id), array_agg(order_id) FROM inserted
      WHERE (SELECT coalesce(sum(orders), 0) FROM taken) < cardinality($13)) AS ids
