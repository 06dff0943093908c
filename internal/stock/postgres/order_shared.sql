-- Take orders of several SKUs, each line from one segment: of each order all lines, or none. For SKUs without a buyer limit.
--
-- In:  arrays with an element for each row of a segment: $1 sku_ids, $2 segments, $3 layouts, $4 fencing tokens (0: no lock),
--      $5 their owners, $6 how many units all lines want from it, $7 and $8 the beginning and the end of the sale (null: none);
--      $9 the deadline, the earliest of all, $10 how long an insert may wait for another one of the same order id;
--      arrays with an element for each line: $11 the numbers of their orders and $12 of their rows, from 1, $13 quantities;
--      arrays with an element for each order: $14 ids, $15 for how many microseconds it is reserved (0, or null for the array:
--      committed at once),
--      $16 the instant of the decision (null: now), $17 how many lines, $18 buyer_ids
-- Out: one row of arrays, null if they are empty: the numbers of the orders that were taken, the instants, the SKUs of which a
--      segment holds nothing now, and the numbers of the orders that are there already.
--      It fails by inventory_require if it ends after the deadline or the end of a sale.
--
-- It only accepts, as deduct_shared.sql does: it skips a row that another transaction holds, or whose layout or fence does not match,
-- or that does not hold what all lines want from it, and so every order with a line there. An order id that is there
-- already is not taken again; if a deduction has it, the primary key aborts the statement.
WITH locked AS MATERIALIZED (
    SELECT w, sku, g.segment, available, units, starts, ends
    FROM unnest($1::text[], $2::integer[], $3::bigint[], $4::bigint[], $5::text[], $6::bigint[], $7::timestamptz[], $8::timestamptz[])
         WITH ORDINALITY AS wanted (sku, segment, layout, token, owner, units, starts, ends, w)
    JOIN stock_segments g ON g.sku_id = sku AND g.segment = wanted.segment AND g.layout = wanted.layout
        AND (token = 0 OR g.fence < token OR (g.fence = token AND g.fence_owner = owner))
    FOR UPDATE OF g SKIP LOCKED
), instant AS MATERIALIZED (
    SELECT clock_timestamp() AS at, set_config('lock_timeout', $10, true) FROM (SELECT count(*) FROM locked) AS done
), fillable AS MATERIALIZED (
    SELECT n, w, sku, segment, q, starts, ends
    FROM unnest($11::bigint[], $12::bigint[], $13::integer[]) AS line (n, w, q) JOIN locked USING (w)
    WHERE available >= units
), filled AS MATERIALIZED (
    SELECT n, id, coalesce(given, instant.at) AS at, r, buyer_id
    FROM unnest($14::text[], $15::bigint[], $16::timestamptz[], $17::bigint[], $18::text[])
         WITH ORDINALITY AS asked (id, r, given, lines, buyer_id, n)
    JOIN (SELECT n, count(*) AS found, max(starts) AS starts, min(ends) AS ends FROM fillable GROUP BY n) AS counts USING (n),
         instant
    WHERE found = lines AND (starts IS NULL OR coalesce(given, instant.at) >= starts) AND (ends IS NULL OR coalesce(given, instant.at) < ends)
), placed AS (
    INSERT INTO orders (order_id, buyer_id, reserve_micros, created_at)
    SELECT id, nullif(buyer_id, ''), coalesce(r, 0), at FROM filled ORDER BY id COLLATE "C"
    ON CONFLICT (order_id) DO NOTHING
    RETURNING order_id
), taken AS MATERIALIZED (
    SELECT n, at, sku, segment AS s, id AS o, q, r, buyer_id
    FROM filled JOIN fillable USING (n) WHERE (id IN (SELECT order_id FROM placed)) IS TRUE -- IS TRUE: by a hash, and not one by one
), listed AS (
    INSERT INTO order_lines (order_id, sku_id, quantity) SELECT o, sku, q FROM taken
), inserted AS (
    INSERT INTO deductions (sku_id, order_id, quantity, segment, status, expires_at, created_at, in_order, buyer_id)
    SELECT sku, o, q, s, CASE WHEN r > 0 THEN 'reserved' ELSE 'committed' END,
           at + nullif(r, 0) * interval '1 microsecond', at, true, nullif(buyer_id, '')
    FROM taken
    ORDER BY sku COLLATE "C", o COLLATE "C"
    RETURNING sku_id, segment, quantity, status
), updated AS (
    UPDATE stock_segments g
    SET available   = available - inventory_require(
                          ($9::timestamptz IS NULL OR clock_timestamp() <= $9)
                          AND (ends IS NULL OR $16::timestamptz[] IS NOT NULL OR clock_timestamp() < ends),
                          sums.units),
        reserved    = g.reserved + sums.reserved,
        version     = version + 1,
        fence       = CASE WHEN token = 0 THEN fence ELSE token END,
        fence_owner = CASE WHEN token = 0 THEN fence_owner ELSE owner END
    FROM (SELECT sku_id, segment, sum(quantity) AS units,
                 coalesce(sum(quantity) FILTER (WHERE status = 'reserved'), 0) AS reserved
          FROM inserted GROUP BY sku_id, segment) AS sums
    JOIN unnest($1, $2, $4, $5, $8) AS wanted (sku, segment, token, owner, ends) ON sku = sums.sku_id AND wanted.segment = sums.segment
    WHERE g.sku_id = sums.sku_id AND g.segment = sums.segment
    RETURNING g.sku_id, g.available
)
SELECT array_agg(n), array_agg(at), (SELECT array_agg(sku_id) FROM updated WHERE available = 0),
       (SELECT array_agg(n) FROM filled WHERE n NOT IN (SELECT n FROM taken))
FROM (SELECT DISTINCT n, at FROM taken) AS done
