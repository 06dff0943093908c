-- Take batches of orders of different SKUs and orders of several SKUs, each line from segments that are named: all of them, or nothing.
-- For SKUs without a buyer limit. It is what take_each.sql does, which decides each batch and each order by itself, for 0.6 of its
-- time.
--
-- In:  arrays with an element for each row of a segment, ascending: $1 sku_ids, $2 segments, $3 layouts, $4 fencing tokens (0: no
--      lock), $5 their owners, $6 how many units all lines want from it, $7 how many of these for reservations;
--      $8 the latest beginning and $9 the earliest end of the sales (null: none), $10 the deadline, the earliest of all,
--      $11 how long it may wait for a row or an order id;
--      arrays with an element for each line, those of orders of several SKUs first: $12 order_ids, $13 sku_ids, $14 segments (-1:
--      several), $15 quantities, $16 for how many microseconds it is reserved (0, or null for the array: committed at once), $17 the instants of
--      the decisions (null: now); $18 how many of the lines are of orders of several SKUs;
--      arrays with an element for each order of several SKUs: $19 ids, $20 and $21 as $16 and $17, $26 buyer_ids; $27 the lines' buyer_ids;
--      arrays with an element for each part of the lines that several segments give: $22 sku_ids, $23 order_ids, $24 segments,
--      $25 quantities
-- Out: the instant, and what the segments hold now.
--      It fails by inventory_require if a row does not hold what is wanted of it, or has another layout or a newer fence, or if it is
--      not between the beginnings and the ends of the sales, or ends after the deadline; and by a key if an order id is there.
--
-- It waits for rows that others have locked, which may be those that want a row that is locked here. The bound on the wait ends
-- such a deadlock.
WITH bounded AS MATERIALIZED (
    SELECT set_config('lock_timeout', $11, true)
), updated AS (
    UPDATE stock_segments g
    SET available   = available - units,
        reserved    = g.reserved + wanted.reserved,
        version     = version + 1,
        fence       = CASE WHEN token = 0 THEN fence ELSE token END,
        fence_owner = CASE WHEN token = 0 THEN fence_owner ELSE owner END
    FROM bounded, unnest($1::text[], $2::integer[], $3::bigint[], $4::bigint[], $5::text[], $6::bigint[], $7::bigint[])
         WITH ORDINALITY AS wanted (sku, segment, layout, token, owner, units, reserved, n)
    WHERE g.sku_id = sku AND g.segment = wanted.segment AND g.layout = wanted.layout AND available >= units
        AND (token = 0 OR g.fence < token OR (g.fence = token AND g.fence_owner = owner))
    RETURNING n, available
), had AS MATERIALIZED (
    SELECT clock_timestamp() AS at, count(*) = cardinality($1) AS them_all, array_agg(available ORDER BY n) AS available FROM updated
), placed AS (
    INSERT INTO orders (order_id, buyer_id, reserve_micros, created_at)
    SELECT id, nullif(buyer_id, ''), coalesce(r, 0), coalesce(given, at)
    FROM had, unnest($19::text[], $20::bigint[], $21::timestamptz[], $26::text[]) AS asked (id, r, given, buyer_id)
    WHERE them_all
    RETURNING 1
), listed AS (
    INSERT INTO order_lines (order_id, sku_id, quantity)
    SELECT o, sku, q FROM had, unnest($12::text[], $13::text[], $15::integer[]) WITH ORDINALITY AS line (o, sku, q, n)
    WHERE them_all AND n <= $18::bigint
    RETURNING 1
), inserted AS (
    INSERT INTO deductions (sku_id, order_id, quantity, segment, status, expires_at, created_at, in_order, buyer_id)
    SELECT sku, o, q, nullif(s, -1), CASE WHEN r > 0 THEN 'reserved' ELSE 'committed' END,
           coalesce(given, at) + nullif(r, 0) * interval '1 microsecond', coalesce(given, at),
           CASE WHEN n <= $18 THEN true END, nullif(buyer_id, '')
    FROM had, unnest($12::text[], $13::text[], $14::integer[], $15::integer[], $16::bigint[], $17::timestamptz[], $27::text[])
         WITH ORDINALITY AS line (o, sku, s, q, r, given, buyer_id, n)
    WHERE them_all
    RETURNING 1
), divided AS (
    INSERT INTO deduction_parts (sku_id, order_id, segment, quantity)
    SELECT sku, o, s, q FROM had, unnest($22::text[], $23::text[], $24::integer[], $25::integer[]) AS part (sku, o, s, q)
    WHERE them_all
    RETURNING 1
), done AS MATERIALIZED (
    SELECT (SELECT count(*) FROM placed), (SELECT count(*) FROM listed), (SELECT count(*) FROM inserted), (SELECT count(*) FROM divided)
)
SELECT at, available, inventory_require(
    them_all
        AND ($8::timestamptz IS NULL OR coalesce((SELECT min(given) FROM unnest($17) AS given), at) >= $8)
        AND ($9::timestamptz IS NULL OR coalesce((SELECT max(given) FROM unnest($17) AS given), clock_timestamp()) < $9)
        AND ($10::timestamptz IS NULL OR clock_timestamp() <= $10), 0)
FROM had, done
