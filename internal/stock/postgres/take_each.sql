-- Take batches of orders of different SKUs, or orders of several SKUs, each line from one segment, and decide each by itself: of a batch
-- all orders that are new, of an order all lines, or nothing.
--
-- In:  arrays with an element for each row of a segment: $1 sku_ids, $2 segments, $3 layouts, $4 fencing tokens (0: no lock),
--      $5 their owners, $6 how many units all lines want from it, $7 and $8 the beginning and the end of the sale (null: none),
--      $9 the buyer limit (0: none);
--      $10 the deadline, the earliest of all, $11 how long it may wait for a buyer or an order id;
--      arrays with an element for each line: $12 the numbers of their orders of several SKUs, or of their batches, which come after these,
--      and $13 of their rows, from 1, $14 order_ids, $15 quantities, $16 for how many microseconds it is reserved (0, or null for
--      the array: committed at once), $17 the instants of the decisions (null: now);
--      arrays with an element for each order of several SKUs: $18 ids, $19 and $20 as $16 and $17, $21 how many lines, $22 buyer_ids;
--      $23 the lines' buyer_ids, with a limit none twice in a batch
-- Out: one row of arrays, null if they are empty. Of what can be taken: the numbers, the instants, how many lines were taken, and what
--      the row of the first line held and holds. If a line of a batch was not taken: the numbers of the batches of those
--      that were, and their order ids. The SKUs of which a segment holds nothing now; the numbers of the orders of several SKUs that are
--      there already; the numbers of those of which a row was locked.
--      It fails by inventory_require if it ends after the deadline or the end of a sale, or if what it has read is not so any more.
--
-- It only accepts. It skips a row that another transaction holds, or whose layout or fence does not match, so it waits for no row of a
-- segment. It takes nothing from a row that does not hold what all lines want. Known orders, and the room of buyers,
-- are read first, without a wait: so it keeps out only itself. Then buyers are counted and orders inserted, which may wait for
-- others that do the same, and these may want a row that is locked here. The bound on the wait ends such a deadlock. If
-- another transaction has sold to a buyer or inserted an order id meanwhile, the numbers do not agree at the end or the insert fails.
--
-- The planner knows no size of what unnest returns, and assumes one that is large enough for hash joins. Nothing here tells it another
-- one, because hundreds of batches must not be compared row by row.
WITH locked AS MATERIALIZED (
    SELECT w, sku, g.segment, available, units, starts, ends, most
    FROM unnest($1::text[], $2::integer[], $3::bigint[], $4::bigint[], $5::text[], $6::bigint[], $7::timestamptz[], $8::timestamptz[],
                $9::bigint[])
         WITH ORDINALITY AS wanted (sku, segment, layout, token, owner, units, starts, ends, most, w)
    JOIN stock_segments g ON g.sku_id = sku AND g.segment = wanted.segment AND g.layout = wanted.layout
        AND (token = 0 OR g.fence < token OR (g.fence = token AND g.fence_owner = owner))
    FOR UPDATE OF g SKIP LOCKED
), instant AS MATERIALIZED (
    SELECT clock_timestamp() AS now, set_config('lock_timeout', $11, true) FROM (SELECT count(*) FROM locked) AS done
), asked AS MATERIALIZED (
    SELECT n, w, sku, segment, o, q, r, buyer_id, most, ends, coalesce(given, now) AS at,
           available >= units AND (starts IS NULL OR coalesce(given, now) >= starts) AND (ends IS NULL OR coalesce(given, now) < ends) AS fits,
           (SELECT true FROM deductions d WHERE d.sku_id = sku AND d.order_id = o) IS NOT NULL AS known
    FROM instant, unnest($12::bigint[], $13::bigint[], $14::text[], $15::integer[], $16::bigint[], $17::timestamptz[], $23::text[])
         AS line (n, w, o, q, r, given, buyer_id) JOIN locked USING (w)
), fillable AS MATERIALIZED (
    SELECT n, min(w) AS w, min(at) AS at
    FROM asked
    GROUP BY n
    HAVING CASE
        WHEN n <= cardinality($18::text[]) THEN bool_and(fits AND NOT known) AND count(*) = ($21::bigint[])[n::integer]
        ELSE bool_and(fits AND (known OR most = 0 OR (buyer_id <> '' AND q <= most AND coalesce(
            (SELECT b.units + q <= most FROM buyers b WHERE b.sku_id = asked.sku AND b.buyer_id = asked.buyer_id), true)))) END
), counted AS (
    INSERT INTO buyers AS b (sku_id, buyer_id, units, most)
    SELECT sku, buyer_id, q, most FROM asked WHERE most > 0 AND NOT known AND n IN (SELECT n FROM fillable)
    ORDER BY sku COLLATE "C", buyer_id COLLATE "C"
    ON CONFLICT (sku_id, buyer_id) DO UPDATE SET units = b.units + excluded.units, most = excluded.most
        WHERE b.units + excluded.units <= excluded.most
    RETURNING sku_id
), placed AS (
    INSERT INTO orders (order_id, buyer_id, reserve_micros, created_at)
    SELECT id, nullif(buyer_id, ''), coalesce(r, 0), coalesce(given, at)
    FROM unnest($18::text[], $19::bigint[], $20::timestamptz[], $22::text[]) WITH ORDINALITY AS head (id, r, given, buyer_id, n)
    JOIN fillable USING (n)
    ORDER BY id COLLATE "C"
    ON CONFLICT (order_id) DO NOTHING
    RETURNING order_id
), taken AS MATERIALIZED (
    SELECT n, sku, segment AS s, o, q, r, buyer_id, most, at
    FROM asked, (SELECT count(*) AS buyers FROM counted) AS waited
    WHERE buyers >= 0 AND NOT known AND n IN (SELECT n FROM fillable)
      AND (n > cardinality($18) OR (o IN (SELECT order_id FROM placed)) IS TRUE) -- IS TRUE: by a hash, and not one by one
), listed AS (
    INSERT INTO order_lines (order_id, sku_id, quantity) SELECT o, sku, q FROM taken WHERE n <= cardinality($18)
), inserted AS (
    INSERT INTO deductions (sku_id, order_id, quantity, segment, status, expires_at, created_at, in_order, limited, buyer_id)
    SELECT sku, o, q, s, CASE WHEN r > 0 THEN 'reserved' ELSE 'committed' END,
           at + nullif(r, 0) * interval '1 microsecond', at, CASE WHEN n <= cardinality($18) THEN true END, CASE WHEN most > 0 THEN true END,
           nullif(buyer_id, '')
    FROM taken
    ORDER BY sku COLLATE "C", o COLLATE "C"
    RETURNING sku_id, segment, quantity, status
), updated AS (
    UPDATE stock_segments g
    SET available   = available - inventory_require(
                          ($10::timestamptz IS NULL OR clock_timestamp() <= $10)
                          AND (ends IS NULL OR $17::timestamptz[] IS NOT NULL OR clock_timestamp() < ends),
                          sums.units),
        reserved    = g.reserved + sums.reserved,
        version     = version + 1,
        fence       = CASE WHEN token = 0 THEN fence ELSE token END,
        fence_owner = CASE WHEN token = 0 THEN fence_owner ELSE owner END
    FROM (SELECT sku_id, segment, sum(quantity) AS units,
                 coalesce(sum(quantity) FILTER (WHERE status = 'reserved'), 0) AS reserved
          FROM inserted GROUP BY sku_id, segment) AS sums
    JOIN unnest($1, $2, $4, $5, $8) WITH ORDINALITY AS wanted (sku, segment, token, owner, ends, w)
        ON sku = sums.sku_id AND wanted.segment = sums.segment
    WHERE g.sku_id = sums.sku_id AND g.segment = sums.segment
    RETURNING w, g.sku_id, g.available
), agreed AS MATERIALIZED (
    SELECT (SELECT count(*) FROM counted) AS buyers, (SELECT count(*) FROM taken WHERE most > 0) AS wanted
)
SELECT had.*, ids.*, gone.*, there.*, held.*
FROM (SELECT array_agg(n), array_agg(at), array_agg(coalesce(lines, 0)), array_agg(l.available), array_agg(coalesce(u.available, l.available))
      FROM fillable LEFT JOIN (SELECT n, count(*) AS lines FROM taken GROUP BY n) AS gave USING (n)
      JOIN locked l USING (w) LEFT JOIN updated u USING (w)) AS had,
     (SELECT array_agg(n), array_agg(o) FROM taken
      WHERE (SELECT count(*) FROM taken) < cardinality($14) AND n > cardinality($18)) AS ids,
     (SELECT array_agg(sku_id) FROM updated WHERE available = 0) AS gone,
     (SELECT array_agg(n) FROM unnest($18) WITH ORDINALITY AS head (id, n)
      WHERE (SELECT true FROM orders WHERE order_id = id)) AS there,
     (SELECT array_agg(DISTINCT n) FROM asked) AS held,
     agreed
WHERE inventory_require(buyers = wanted, 1) = 1
