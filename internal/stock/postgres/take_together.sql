-- Take batches of orders of different SKUs and orders of several SKUs, each line from segments that are named: all of them, or nothing.
-- For SKUs without a buyer limit. It is what take_each.sql does, which decides each batch and each order by itself, for 0.6 of its
-- time.
--
-- In:  arrays with an element for each row of a segment, ascending: @row_skus, @row_segments, @layouts, @tokens the fencing tokens (0: no
--      lock), @owners of them, @units that all lines want from it, @reserved how many of these for reservations;
--      @starts the latest beginning and @ends the earliest end of the sales (null: none), @deadline the earliest of all,
--      @wait how long it may wait for a row or an order id;
--      arrays with an element for each line, those of orders of several SKUs first: @order_ids, @sku_ids, @segments (-1: several),
--      @quantities, @reserve_micros for how many microseconds it is reserved (0, or null for the array: committed at once), @given the
--      instants of the decisions (null: now); @in_orders how many of the lines are of orders of several SKUs;
--      arrays with an element for each order of several SKUs: @heads their ids, @head_reserve_micros, @head_given;
--      arrays with an element for each part of the lines that several segments give: @part_skus, @part_orders, @part_segments,
--      @part_quantities;
--      and last the texts of the orders of several SKUs, of which @head_buyer_ids is one, and of the lines: @buyer_ids
-- Out: the instant, and what the segments hold now.
--      It fails by inventory_require if a row does not hold what is wanted of it, or has another layout or a newer fence, or if it is
--      not between the beginnings and the ends of the sales, or ends after the deadline; and by a key if an order id is there.
--
-- It waits for rows that others have locked, which may be those that want a row that is locked here. The bound on the wait ends
-- such a deadlock.
WITH bounded AS MATERIALIZED (
    SELECT set_config('lock_timeout', @wait, true)
), updated AS (
    UPDATE stock_segments g
    SET available   = available - units,
        reserved    = g.reserved + wanted.reserved,
        version     = version + 1,
        fence       = CASE WHEN token = 0 THEN fence ELSE token END,
        fence_owner = CASE WHEN token = 0 THEN fence_owner ELSE owner END
    FROM bounded,
         unnest(@row_skus::text[], @row_segments::integer[], @layouts::bigint[], @tokens::bigint[], @owners::text[], @units::bigint[],
                @reserved::bigint[])
         WITH ORDINALITY AS wanted (sku, segment, layout, token, owner, units, reserved, n)
    WHERE g.sku_id = sku AND g.segment = wanted.segment AND g.layout = wanted.layout AND available >= units
        AND (token = 0 OR g.fence < token OR (g.fence = token AND g.fence_owner = owner))
    RETURNING n, available
), had AS MATERIALIZED (
    SELECT clock_timestamp() AS at, count(*) = cardinality(@row_skus) AS them_all, array_agg(available ORDER BY n) AS available FROM updated
), placed AS (
    INSERT INTO orders (order_id, buyer_id, reserve_micros, created_at)
    SELECT id, nullif(buyer_id, ''), coalesce(r, 0), coalesce(given, at)
    FROM had, unnest(@heads::text[], @head_reserve_micros::bigint[], @head_given::timestamptz[], @head_buyer_ids::text[])
         AS asked (id, r, given, buyer_id)
    WHERE them_all
    RETURNING 1
), listed AS (
    INSERT INTO order_lines (order_id, sku_id, quantity)
    SELECT o, sku, q FROM had, unnest(@order_ids::text[], @sku_ids::text[], @quantities::integer[]) WITH ORDINALITY AS line (o, sku, q, n)
    WHERE them_all AND n <= @in_orders::bigint
    RETURNING 1
), inserted AS (
    INSERT INTO deductions (sku_id, order_id, quantity, segment, status, expires_at, created_at, in_order, buyer_id)
    SELECT sku, o, q, nullif(s, -1), CASE WHEN r > 0 THEN 'reserved' ELSE 'committed' END,
           coalesce(given, at) + nullif(r, 0) * interval '1 microsecond', coalesce(given, at),
           CASE WHEN n <= @in_orders THEN true END, nullif(buyer_id, '')
    FROM had,
         unnest(@order_ids::text[], @sku_ids::text[], @segments::integer[], @quantities::integer[], @reserve_micros::bigint[],
                @given::timestamptz[], @buyer_ids::text[])
         WITH ORDINALITY AS line (o, sku, s, q, r, given, buyer_id, n)
    WHERE them_all
    RETURNING 1
), divided AS (
    INSERT INTO deduction_parts (sku_id, order_id, segment, quantity)
    SELECT sku, o, s, q
    FROM had, unnest(@part_skus::text[], @part_orders::text[], @part_segments::integer[], @part_quantities::integer[]) AS part (sku, o, s, q)
    WHERE them_all
    RETURNING 1
), done AS MATERIALIZED (
    SELECT (SELECT count(*) FROM placed), (SELECT count(*) FROM listed), (SELECT count(*) FROM inserted), (SELECT count(*) FROM divided)
)
SELECT at, available, inventory_require(
    them_all
        AND (@starts::timestamptz IS NULL OR coalesce((SELECT min(given) FROM unnest(@given) AS given), at) >= @starts)
        AND (@ends::timestamptz IS NULL OR coalesce((SELECT max(given) FROM unnest(@given) AS given), clock_timestamp()) < @ends)
        AND (@deadline::timestamptz IS NULL OR clock_timestamp() <= @deadline), 0)
FROM had, done
