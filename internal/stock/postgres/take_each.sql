-- Take batches of orders of different SKUs, or orders of several SKUs, each line from one segment, and decide each by itself: of a batch
-- all orders that are new, of an order all lines, or nothing.
--
-- In:  arrays with an element for each row of a segment: @row_skus, @row_segments, @layouts, @tokens the fencing tokens (0: no lock),
--      @owners of them, @units that all lines want from it, @starts and @ends the beginning and the end of the sale (null: none),
--      @limits the buyer limit (0: none);
--      @deadline the earliest of all, @wait how long it may wait for a buyer or an order id;
--      arrays with an element for each line: @numbers of their orders of several SKUs, or of their batches, which come after these, and
--      @rows the numbers of their rows, from 1, @order_ids, @quantities, @reserve_micros for how many microseconds it is reserved (0, or
--      null for the array: committed at once), @given the instants of the decisions (null: now);
--      arrays with an element for each order of several SKUs: @heads their ids, @head_reserve_micros, @head_given, @head_lengths how many
--      lines;
--      and last the texts of the orders of several SKUs, of which @head_buyer_ids is one, and of the lines: @buyer_ids, with a limit none
--      twice in a batch
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
    FROM unnest(@row_skus::text[], @row_segments::integer[], @layouts::bigint[], @tokens::bigint[], @owners::text[], @units::bigint[],
                @starts::timestamptz[], @ends::timestamptz[], @limits::bigint[])
         WITH ORDINALITY AS wanted (sku, segment, layout, token, owner, units, starts, ends, most, w)
    JOIN stock_segments g ON g.sku_id = sku AND g.segment = wanted.segment AND g.layout = wanted.layout
        AND (token = 0 OR g.fence < token OR (g.fence = token AND g.fence_owner = owner))
    FOR UPDATE OF g SKIP LOCKED
), instant AS MATERIALIZED (
    SELECT clock_timestamp() AS now, set_config('lock_timeout', @wait, true) FROM (SELECT count(*) FROM locked) AS done
), asked AS MATERIALIZED (
    SELECT n, w, sku, segment, o, q, r, buyer_id, most, ends, coalesce(given, now) AS at,
           available >= units AND (starts IS NULL OR coalesce(given, now) >= starts) AND (ends IS NULL OR coalesce(given, now) < ends) AS fits,
           (SELECT true FROM deductions d WHERE d.sku_id = sku AND d.order_id = o) IS NOT NULL AS known
    FROM instant,
         unnest(@numbers::bigint[], @rows::bigint[], @order_ids::text[], @quantities::integer[], @reserve_micros::bigint[],
                @given::timestamptz[], @buyer_ids::text[])
         AS line (n, w, o, q, r, given, buyer_id) JOIN locked USING (w)
), fillable AS MATERIALIZED (
    SELECT n, min(w) AS w, min(at) AS at
    FROM asked
    GROUP BY n
    HAVING CASE
        WHEN n <= cardinality(@heads::text[]) THEN bool_and(fits AND NOT known) AND count(*) = (@head_lengths::bigint[])[n::integer]
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
    FROM unnest(@heads::text[], @head_reserve_micros::bigint[], @head_given::timestamptz[], @head_buyer_ids::text[])
         WITH ORDINALITY AS head (id, r, given, buyer_id, n)
    JOIN fillable USING (n)
    ORDER BY id COLLATE "C"
    ON CONFLICT (order_id) DO NOTHING
    RETURNING order_id
), taken AS MATERIALIZED (
    SELECT n, sku, segment AS s, o, q, r, buyer_id, most, at
    FROM asked, (SELECT count(*) AS buyers FROM counted) AS waited
    WHERE buyers >= 0 AND NOT known AND n IN (SELECT n FROM fillable)
      AND (n > cardinality(@heads) OR (o IN (SELECT order_id FROM placed)) IS TRUE) -- IS TRUE: by a hash, and not one by one
), listed AS (
    INSERT INTO order_lines (order_id, sku_id, quantity) SELECT o, sku, q FROM taken WHERE n <= cardinality(@heads)
), inserted AS (
    INSERT INTO deductions (sku_id, order_id, quantity, segment, status, expires_at, created_at, in_order, limited, buyer_id)
    SELECT sku, o, q, s, CASE WHEN r > 0 THEN 'reserved' ELSE 'committed' END,
           at + nullif(r, 0) * interval '1 microsecond', at, CASE WHEN n <= cardinality(@heads) THEN true END, CASE WHEN most > 0 THEN true END,
           nullif(buyer_id, '')
    FROM taken
    ORDER BY sku COLLATE "C", o COLLATE "C"
    RETURNING sku_id, segment, quantity, status
), updated AS (
    UPDATE stock_segments g
    SET available   = available - inventory_require(
                          (@deadline::timestamptz IS NULL OR clock_timestamp() <= @deadline)
                          AND (ends IS NULL OR @given::timestamptz[] IS NOT NULL OR clock_timestamp() < ends),
                          sums.units),
        reserved    = g.reserved + sums.reserved,
        version     = version + 1,
        fence       = CASE WHEN token = 0 THEN fence ELSE token END,
        fence_owner = CASE WHEN token = 0 THEN fence_owner ELSE owner END
    FROM (SELECT sku_id, segment, sum(quantity) AS units,
                 coalesce(sum(quantity) FILTER (WHERE status = 'reserved'), 0) AS reserved
          FROM inserted GROUP BY sku_id, segment) AS sums
    JOIN unnest(@row_skus, @row_segments, @tokens, @owners, @ends) WITH ORDINALITY AS wanted (sku, segment, token, owner, ends, w)
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
      WHERE (SELECT count(*) FROM taken) < cardinality(@order_ids) AND n > cardinality(@heads)) AS ids,
     (SELECT array_agg(sku_id) FROM updated WHERE available = 0) AS gone,
     (SELECT array_agg(n) FROM unnest(@heads) WITH ORDINALITY AS head (id, n)
      WHERE (SELECT true FROM orders WHERE order_id = id)) AS there,
     (SELECT array_agg(DISTINCT n) FROM asked) AS held,
     agreed
WHERE inventory_require(buyers = wanted, 1) = 1
