-- Take a batch of orders from one segment of a SKU.
--
-- In:  @sku_id, @segment, @token the fencing token (0: no lock), @owner of the token; arrays: @order_ids, @quantities, @reserve_micros
--      for how many microseconds each is reserved (0, or null for the array: committed at once); @units the sum of the quantities, @at
--      the instant of the decision (null: now), @layout, @deadline, @starts and @ends the beginning and the end of the sale (each
--      null: none); then the arrays of the texts of orders ('': none), of which @buyer_ids is one
--
-- The statements fail by inventory_require if they end after the deadline or the end of the sale.
--
-- The row of the segment is locked first, and everything is inserted from that row. So a stale token inserts nothing. A statement waits
-- for a row or an order id for 50 ms at most, so that no reservation is much shorter than was asked, and that a row which is held for long
-- delays few orders: a transaction, which makes up for its waits, decides then. The clock is read from the locked row, that is, after the
-- wait for it. It is read again at the end, because an insert may wait for another one of the same order id.

-- name: deduct_new
-- All orders, if all of them are new; otherwise nothing. For SKUs without a buyer limit. It takes 0.6 to 0.8 of the time of deduct.
--
-- Out: the instant of the decision, and what the segment holds now; no row, and nothing is written, if the segment has no row of this
--      layout under this fence, or holds too little.
--      It also fails by inventory_require if the SKU is not sold at the instant, and by a key if an order id is there.
--
-- The row of the segment is changed first: that locks it, and two batches of a segment never insert beside each other. Batches of two
-- segments that insert the same order ids may wait for each other in a circle. The bound on the wait ends it.
WITH bounded AS MATERIALIZED (
    SELECT set_config('lock_timeout', '50ms', true)
), updated AS (
    UPDATE stock_segments g
    SET available   = available - @units::bigint,
        reserved    = g.reserved + CASE WHEN @reserve_micros::bigint[] IS NULL THEN 0 ELSE
                          (SELECT coalesce(sum(q) FILTER (WHERE r > 0), 0) FROM unnest(@quantities::integer[], @reserve_micros) AS asked (q, r)) END,
        version     = version + 1,
        fence       = CASE WHEN @token = 0 THEN fence ELSE @token END,
        fence_owner = CASE WHEN @token = 0 THEN fence_owner ELSE @owner END
    FROM bounded
    WHERE sku_id = @sku_id AND segment = @segment AND layout = @layout AND available >= @units
      AND (@token::bigint = 0 OR fence < @token OR (fence = @token AND fence_owner = @owner))
    RETURNING available
), decided AS MATERIALIZED (
    SELECT available, @segment::integer AS s, coalesce(@at::timestamptz, clock_timestamp()) AS at FROM updated
), inserted AS (
    INSERT INTO deductions (sku_id, order_id, quantity, segment, status, expires_at, created_at, buyer_id)
    SELECT @sku_id, o, q, s, CASE WHEN r > 0 THEN 'reserved' ELSE 'committed' END,
           at + nullif(r, 0) * interval '1 microsecond', at, nullif(buyer_id, '')
    FROM decided, unnest(@order_ids::text[], @quantities, @reserve_micros, @buyer_ids::text[]) AS asked (o, q, r, buyer_id)
    RETURNING 1
), done AS MATERIALIZED (
    SELECT count(*) AS orders FROM inserted
)
SELECT at, available, inventory_require(
    orders = cardinality(@order_ids)
        AND (@starts::timestamptz IS NULL OR at >= @starts)
        AND (@ends::timestamptz IS NULL OR coalesce(@at, clock_timestamp()) < @ends)
        AND (@deadline::timestamptz IS NULL OR clock_timestamp() <= @deadline), 0)
FROM decided, done;

-- piece: locked
WITH bounded AS MATERIALIZED (
    SELECT set_config('lock_timeout', '50ms', true)
), locked AS MATERIALIZED (
    SELECT available
    FROM bounded, stock_segments
    WHERE sku_id = @sku_id AND segment = @segment AND layout = @layout
      AND (@token::bigint = 0 OR fence < @token OR (fence = @token AND fence_owner = @owner))
    FOR UPDATE OF stock_segments
),

-- piece: updated
updated AS (
    UPDATE stock_segments g
    SET available   = available - inventory_require(
                          taken.orders = taken.admitted AND (@deadline::timestamptz IS NULL OR clock_timestamp() <= @deadline)
                          AND (@ends IS NULL OR coalesce(@at, clock_timestamp()) < @ends),
                          taken.units),
        reserved    = g.reserved + taken.reserved,
        version     = version + 1,
        fence       = CASE WHEN @token = 0 THEN fence ELSE @token END,
        fence_owner = CASE WHEN @token = 0 THEN fence_owner ELSE @owner END
    FROM taken
    WHERE sku_id = @sku_id AND segment = @segment AND taken.admitted > 0
    RETURNING available
)
SELECT (SELECT available FROM locked),
       taken.orders,
       (SELECT available FROM updated),
       CASE WHEN taken.orders BETWEEN 1 AND cardinality(@order_ids::text[]) - 1
            THEN (SELECT array_agg(order_id) FROM inserted) END,
       (SELECT at FROM decided)

-- name: deduct
-- All orders that are new; none if the segment holds less than all orders ask for, or the SKU is not sold then. For SKUs without a buyer
-- limit.
--
-- Out: one row: what the segment held (null: no row of this layout under this fence), how many orders were inserted, what it holds now
--      (null: unchanged), the ids that were inserted if some were not, and the instant of the decision.
--
-- Order ids are inserted in ascending order, so two batches never wait for each other in a circle.
-- include locked
decided AS MATERIALIZED (
    SELECT available, @segment::integer AS s, coalesce(@at::timestamptz, clock_timestamp()) AS at FROM locked
), inserted AS (
    INSERT INTO deductions (sku_id, order_id, quantity, segment, status, expires_at, created_at, buyer_id)
    SELECT @sku_id, o, q, s, CASE WHEN r > 0 THEN 'reserved' ELSE 'committed' END,
           at + nullif(r, 0) * interval '1 microsecond', at, nullif(buyer_id, '')
    FROM decided, unnest(@order_ids::text[], @quantities::integer[], @reserve_micros::bigint[], @buyer_ids::text[]) AS asked (o, q, r, buyer_id)
    WHERE available >= @units::bigint
      AND (@starts::timestamptz IS NULL OR at >= @starts) AND (@ends::timestamptz IS NULL OR at < @ends)
    ORDER BY o COLLATE "C"
    ON CONFLICT (sku_id, order_id) DO NOTHING
    RETURNING order_id, quantity, status
), taken AS (
    SELECT count(*) AS orders, count(*) AS admitted, coalesce(sum(quantity), 0) AS units,
           coalesce(sum(quantity) FILTER (WHERE status = 'reserved'), 0) AS reserved
    FROM inserted
),
-- include updated
FROM taken;

-- name: deduct_limited
-- All orders that are new and within the buyer limit of the SKU; none if the segment holds less than all orders ask for, or the SKU is not
-- sold then.
--
-- In:  @limit, @swept until when no reservation is live (null: not known), @counted_at the count of its buyers: the SKU, or that of its
--      group; in @buyer_ids no buyer twice
-- Out: as deduct, and if some orders were not inserted: the ids of those that are not known, but whose buyers hold too much (null: there
--      are none), and whether reservations of the SKU have expired whose units are not back.
--
-- A buyer is counted before the order is inserted: the statement waits for a buyer's row that another batch writes, and then sees it.
-- So the clock is read once the buyers are counted. Buyers and order ids are written in ascending order. Known order ids are looked up
-- first. If another batch was faster with one, its buyer would be counted twice: then the statement fails by inventory_require.
--
-- Scalar sub-selects look up what each order needs, because they use the index. For a join, a planner that knows old sizes of growing
-- tables would read all rows of the SKU, or compare each order with each buyer.
-- include locked
fresh AS MATERIALIZED (
    SELECT o, q, r, buyer_id
    FROM locked, unnest(@order_ids::text[], @quantities::integer[], @reserve_micros::bigint[], @buyer_ids::text[]) AS asked (o, q, r, buyer_id)
    WHERE available >= @units::bigint
      AND (SELECT true FROM deductions WHERE sku_id = @sku_id AND order_id = o) IS NULL
), counted AS (
    INSERT INTO buyers AS n (sku_id, buyer_id, units, most)
    SELECT @counted_at, buyer_id, q, @limit::bigint FROM fresh WHERE q <= @limit
    ORDER BY buyer_id COLLATE "C"
    ON CONFLICT (sku_id, buyer_id) DO UPDATE SET units = n.units + excluded.units, most = excluded.most
        WHERE n.units + excluded.units <= excluded.most
    RETURNING buyer_id
), decided AS MATERIALIZED (
    SELECT @segment::integer AS s, CASE WHEN buyers >= 0 AND held >= 0 THEN coalesce(@at::timestamptz, clock_timestamp()) END AS at
    FROM (SELECT (SELECT count(*) FROM counted) AS buyers, (SELECT available FROM locked) AS held) AS waited
), inserted AS (
    INSERT INTO deductions (sku_id, order_id, quantity, segment, status, expires_at, created_at, limited, counted_at, buyer_id)
    SELECT @sku_id, o, q, s, CASE WHEN r > 0 THEN 'reserved' ELSE 'committed' END,
           at + nullif(r, 0) * interval '1 microsecond', at, true, nullif(@counted_at, @sku_id), nullif(buyer_id, '')
    FROM decided, fresh
    WHERE (buyer_id IN (SELECT buyer_id FROM counted)) IS TRUE
      AND (@starts::timestamptz IS NULL OR at >= @starts) AND (@ends::timestamptz IS NULL OR at < @ends)
    ORDER BY o COLLATE "C"
    ON CONFLICT (sku_id, order_id) DO NOTHING
    RETURNING order_id, quantity, status
), taken AS (
    SELECT count(*) AS orders, (SELECT count(*) FROM counted) AS admitted, coalesce(sum(quantity), 0) AS units,
           coalesce(sum(quantity) FILTER (WHERE status = 'reserved'), 0) AS reserved
    FROM inserted
),
-- include updated
, CASE WHEN taken.orders < cardinality(@order_ids::text[])
       THEN (SELECT array_agg(o) FROM fresh
             WHERE q > @limit OR (
                 SELECT n.units + q > @limit FROM buyers n WHERE n.sku_id = @counted_at AND n.buyer_id = fresh.buyer_id)) END,
       taken.orders < cardinality(@order_ids::text[]) AND EXISTS (
           SELECT 1 FROM deductions WHERE sku_id = @sku_id AND status = 'reserved' AND expires_at > coalesce(@swept::timestamptz, '-infinity')
             AND expires_at <= (SELECT at FROM decided))
FROM taken;
