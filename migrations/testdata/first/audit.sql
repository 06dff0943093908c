-- The balance of every SKU, recomputed from its rows.
--
-- In:  nothing; run it in a transaction with one snapshot
-- Out: sku_id, initial, restocked, adjusted, available, reserved, committed, merges, and how many of its order
--      ids have two rows, how many deductions have parts that do not add up, how many segments are below zero. The
--      constraints rule these three out; the audit does not take the constraints' word for it.
SELECT k.sku_id,
       k.initial,
       coalesce(m.restocked, 0),
       coalesce(m.adjusted, 0),
       coalesce(s.available, 0),
       coalesce(d.reserved, 0),
       coalesce(d.committed, 0),
       coalesce(d.merges, 0),
       coalesce(d.doubled, 0),
       coalesce(d.uneven, 0),
       coalesce(s.negative, 0)
FROM skus k
LEFT JOIN (
    SELECT sku_id,
           sum(quantity) FILTER (WHERE kind = 'restock')::bigint AS restocked,
           sum(quantity) FILTER (WHERE kind = 'adjust')::bigint  AS adjusted
    FROM movements GROUP BY sku_id
) m USING (sku_id)
LEFT JOIN (
    SELECT sku_id,
           sum(available)::bigint AS available,
           count(*) FILTER (WHERE available < 0) AS negative
    FROM stock_segments GROUP BY sku_id
) s USING (sku_id)
LEFT JOIN (
    SELECT sku_id,
           sum(quantity) FILTER (WHERE status = 'reserved')::bigint  AS reserved,
           sum(quantity) FILTER (WHERE status = 'committed')::bigint AS committed,
           count(*) FILTER (WHERE segment IS NULL)                   AS merges,
           count(*) - count(DISTINCT order_id)                       AS doubled,
           count(*) FILTER (WHERE segment IS NULL AND quantity <> coalesce((
               SELECT sum(p.quantity) FROM deduction_parts p
               WHERE p.sku_id = deductions.sku_id AND p.order_id = deductions.order_id), 0)) AS uneven
    FROM deductions GROUP BY sku_id
) d USING (sku_id)
ORDER BY k.sku_id
