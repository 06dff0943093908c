-- name: count_skus
-- Out: how many SKUs there are
SELECT count(*) FROM skus;

-- name: audit_page
-- In:  @after the SKU before the page, @limit how many SKUs
-- Out: the first and the last SKU of the page; no row after the last page
SELECT min(sku_id), max(sku_id) FROM (SELECT sku_id FROM skus WHERE sku_id > @after ORDER BY sku_id LIMIT @limit) AS page HAVING count(*) > 0;

-- name: has_more_orders
-- In:  @first and @last SKU, @count a number of deductions
-- Out: whether the SKUs from the first to the last have more together
SELECT count(*) > @count FROM (SELECT 1 FROM deductions WHERE sku_id BETWEEN @first AND @last LIMIT @count + 1) AS counted;

-- name: audit
-- The balance of SKUs, recomputed from their rows.
--
-- In:  @first and @last SKU
-- Out: sku_id, initial, restocked, adjusted, written off, available, reserved, committed, merges, and
--      doubled   order ids that have two rows
--      uneven    deductions whose parts do not add up
--      negative  segments below zero
--      excess    buyers whose count is not what those of their live deductions hold that are counted, or is above
--                the limit: today's, or if the terms have ever changed, the limit when they last bought
--      uncounted if there is a limit, live deductions of buyers that are not counted, or not where they shall be, unless they are
--                being counted
--      and its limit_group ('': none)
--      mismatched deductions that do not hold what was asked or taken later, less what was given back
--      unadded   how far what is stored as the sum of the ledger is from its rows
--      The constraints and the statements rule these out; the audit does not rely on them.
SELECT k.sku_id,
       k.initial,
       coalesce(m.restocked, 0),
       coalesce(m.adjusted, 0),
       coalesce(m.written_off, 0),
       coalesce(s.available, 0),
       coalesce(d.reserved, 0),
       coalesce(d.committed, 0) + coalesce(f.committed, 0),
       coalesce(d.merges, 0) + coalesce(f.merges, 0),
       coalesce(d.doubled, 0),
       coalesce(d.uneven, 0),
       coalesce(s.negative, 0),
       coalesce(b.excess, 0),
       CASE WHEN k.per_buyer_limit IS NULL OR k.counting THEN 0
            WHEN k.limit_group IS NULL THEN coalesce(d.uncounted + d.in_groups, 0)
            WHEN d.first_group <> '#' || k.limit_group OR d.last_group <> '#' || k.limit_group THEN coalesce(d.uncounted + d.in_groups, 0)
            ELSE coalesce(d.uncounted + d.counted - d.in_groups, 0) END,
       coalesce(a.mismatched, 0),
       abs(k.moved - coalesce(t.moved, 0)),
       coalesce(k.limit_group, '')
FROM skus k
LEFT JOIN (
    SELECT sku_id,
           sum(quantity) FILTER (WHERE kind = 'restock') AS restocked,
           sum(quantity) FILTER (WHERE kind = 'adjust')  AS adjusted,
           -sum(quantity) FILTER (WHERE kind = 'write_off') AS written_off
    FROM movements WHERE sku_id BETWEEN @first AND @last GROUP BY sku_id
) m USING (sku_id)
LEFT JOIN (
    SELECT sku_id,
           sum(available) AS available,
           count(*) FILTER (WHERE available < 0) AS negative
    FROM stock_segments WHERE sku_id BETWEEN @first AND @last GROUP BY sku_id
) s USING (sku_id)
LEFT JOIN (
    SELECT sku_id,
           sum(quantity) FILTER (WHERE status = 'reserved')  AS reserved,
           sum(quantity) FILTER (WHERE status = 'committed') AS committed,
           count(*) FILTER (WHERE segment IS NULL)                   AS merges,
           count(*) FILTER (WHERE buyer_id IS NOT NULL AND limited IS NOT TRUE
                                  AND (status = 'reserved' OR status = 'committed')) AS uncounted,
           count(*) FILTER (WHERE limited AND (status = 'reserved' OR status = 'committed')) AS counted,
           count(counted_at) FILTER (WHERE limited AND (status = 'reserved' OR status = 'committed')) AS in_groups,
           min(counted_at) FILTER (WHERE limited AND (status = 'reserved' OR status = 'committed')) AS first_group,
           max(counted_at) FILTER (WHERE limited AND (status = 'reserved' OR status = 'committed')) AS last_group,
           count(*) - count(DISTINCT order_id)                       AS doubled,
           count(*) FILTER (WHERE segment IS NULL AND quantity <> coalesce((
               SELECT sum(p.quantity) FROM deduction_parts p
               WHERE p.sku_id = d.sku_id AND p.order_id = d.order_id), 0)) AS uneven
    FROM deductions d WHERE sku_id BETWEEN @first AND @last GROUP BY sku_id
) d USING (sku_id)
LEFT JOIN (
    SELECT sku_id, count(*) AS excess
    FROM (
        SELECT l.sku_id, u.buyer_id
        FROM skus l
        JOIN (
            SELECT sku_id, buyer_id, units AS counted, 0 AS held, most
            FROM buyers WHERE sku_id BETWEEN @first AND @last
            UNION ALL
            SELECT sku_id, buyer_id, 0, quantity, 0
            FROM deductions
            WHERE sku_id BETWEEN @first AND @last AND limited AND counted_at IS NULL AND (status = 'reserved' OR status = 'committed')
        ) u USING (sku_id)
        WHERE l.sku_id BETWEEN @first AND @last
        GROUP BY l.sku_id, u.buyer_id
        HAVING sum(u.counted) <> sum(u.held) OR sum(u.counted) > CASE
            WHEN EXISTS (SELECT 1 FROM movements t WHERE t.sku_id = l.sku_id AND t.kind = 'terms') THEN max(u.most)
            ELSE max(l.per_buyer_limit) END
    ) AS wrong
    GROUP BY sku_id
) b USING (sku_id)
LEFT JOIN (
    -- A commit of a part also gives units back, and has no amendment.
    SELECT d.sku_id, count(*) AS mismatched
    FROM deductions d LEFT JOIN (
        SELECT sku_id, order_id, sum(units) AS units FROM (
            SELECT sku_id, order_id, returned AS units FROM amendments WHERE sku_id BETWEEN @first AND @last AND returned IS NOT NULL
            UNION ALL
            SELECT sku_id, order_id, ended - units FROM additions WHERE sku_id BETWEEN @first AND @last
        ) given GROUP BY sku_id, order_id
    ) back USING (sku_id, order_id)
    WHERE d.sku_id BETWEEN @first AND @last AND (d.asked IS NOT NULL OR back.units IS NOT NULL)
      AND CASE d.status
          WHEN 'reserved'  THEN d.quantity <> coalesce(d.asked, d.quantity) - coalesce(back.units, 0)
          WHEN 'committed' THEN d.quantity > coalesce(d.asked, d.quantity) - coalesce(back.units, 0)
          ELSE coalesce(back.units, 0) > coalesce(d.asked, d.quantity)
          END
    GROUP BY d.sku_id
) a USING (sku_id)
LEFT JOIN (
    SELECT sku_id, sum(n.quantity) AS moved FROM movements n JOIN skus l USING (sku_id)
    WHERE sku_id BETWEEN @first AND @last AND n.created_at <= l.moved_until GROUP BY sku_id
) t USING (sku_id)
LEFT JOIN pruned f USING (sku_id)
WHERE k.sku_id BETWEEN @first AND @last
ORDER BY k.sku_id;

-- name: audit_groups
-- In:  @first and @last count of a group
-- Out: the count, how many buyers it counts with other units than those of its live deductions, or with more than when they last bought
SELECT counted_at, count(*)
FROM (
    SELECT u.counted_at, u.buyer_id
    FROM (
        SELECT sku_id AS counted_at, buyer_id, units AS counted, 0 AS held, most
        FROM buyers WHERE sku_id BETWEEN @first AND @last
        UNION ALL
        SELECT counted_at, buyer_id, 0, quantity, 0
        FROM deductions
        WHERE counted_at IS NOT NULL AND limited AND (status = 'reserved' OR status = 'committed')
          AND counted_at BETWEEN @first AND @last
    ) u
    GROUP BY u.counted_at, u.buyer_id
    HAVING sum(u.counted) <> sum(u.held) OR sum(u.counted) > max(u.most)
) AS wrong
GROUP BY counted_at;

-- name: incomplete_lines
-- Out: sku_id, how many lines of orders of several SKUs have no deduction; no row for a SKU without such lines
SELECT l.sku_id, count(*)
FROM order_lines l LEFT JOIN deductions d USING (sku_id, order_id)
WHERE d.order_id IS NULL
GROUP BY l.sku_id;

-- name: unlisted_deductions
-- In:  @sku_id
-- Out: how many deductions are lines of orders of several SKUs that do not list them
SELECT count(*) FROM deductions d
WHERE d.sku_id = @sku_id AND d.in_order
  AND NOT EXISTS (SELECT 1 FROM order_lines l WHERE l.order_id = d.order_id AND l.sku_id = @sku_id);
