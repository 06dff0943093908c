-- The balance of a SKU or of every SKU, recomputed from the rows.
--
-- In:  $1 sku_id ('' for all); run it in a transaction with one snapshot
-- Out: sku_id, initial, restocked, adjusted, available, reserved, committed, merges, and how many of its order
--      ids have two rows, how many deductions have parts that do not add up, how many segments are below zero, how many
--      buyers are counted wrong or hold too much, how many lines of orders have no deduction, how many deductions do not
--      hold what was asked less what was given back. The constraints rule most of these out; the audit does not take the
--      constraints' word for it.
SELECT k.sku_id,
       k.initial,
       coalesce(m.restocked, 0),
       coalesce(m.adjusted, 0),
       coalesce(s.available, 0),
       coalesce(d.reserved, 0),
       coalesce(d.committed, 0) + coalesce(f.committed, 0),
       coalesce(d.merges, 0) + coalesce(f.merges, 0),
       coalesce(d.doubled, 0),
       coalesce(d.uneven, 0),
       coalesce(s.negative, 0),
       coalesce(b.excess, 0),
       coalesce(l.ragged, 0),
       coalesce(a.astray, 0)
FROM skus k
LEFT JOIN (
    SELECT sku_id,
           sum(quantity) FILTER (WHERE kind = 'restock')::bigint AS restocked,
           sum(quantity) FILTER (WHERE kind = 'adjust')::bigint  AS adjusted
    FROM movements WHERE $1::text = '' OR sku_id = $1 GROUP BY sku_id
) m USING (sku_id)
LEFT JOIN (
    SELECT sku_id,
           sum(available)::bigint AS available,
           count(*) FILTER (WHERE available < 0) AS negative
    FROM stock_segments WHERE $1 = '' OR sku_id = $1 GROUP BY sku_id
) s USING (sku_id)
LEFT JOIN (
    SELECT sku_id,
           sum(quantity) FILTER (WHERE status = 'reserved')::bigint  AS reserved,
           sum(quantity) FILTER (WHERE status = 'committed')::bigint AS committed,
           count(*) FILTER (WHERE segment IS NULL)                   AS merges,
           count(*) - count(DISTINCT order_id)                       AS doubled,
           count(*) FILTER (WHERE segment IS NULL AND quantity <> coalesce((
               SELECT sum(p.quantity) FROM deduction_parts p
               WHERE p.sku_id = d.sku_id AND p.order_id = d.order_id), 0)) AS uneven
    FROM deductions d WHERE $1 = '' OR sku_id = $1 GROUP BY sku_id
) d USING (sku_id)
LEFT JOIN (
    -- A buyer without a row is counted with 0. Where the ledger has other terms, a buyer keeps what was within
    -- the limit (most) when it was bought. Who bought before there was a limit may have no buyer.
    SELECT sku_id, count(*) AS excess
    FROM (
        SELECT sku_id, buyer_id, sum(counted) AS counted, sum(held) AS held, max(most) AS most
        FROM (
            SELECT sku_id, buyer_id, units AS counted, 0 AS held, most
            FROM buyers WHERE $1 = '' OR sku_id = $1
            UNION ALL
            SELECT sku_id, buyer_id, 0, sum(quantity), 0
            FROM deductions
            WHERE ($1 = '' OR sku_id = $1) AND status IN ('reserved', 'committed') AND buyer_id IS NOT NULL
              AND sku_id IN (SELECT sku_id FROM skus WHERE per_buyer_limit IS NOT NULL)
            GROUP BY sku_id, buyer_id
        ) either
        GROUP BY sku_id, buyer_id
    ) buyer JOIN skus USING (sku_id)
    WHERE counted <> held OR held > CASE WHEN EXISTS (SELECT FROM movements t WHERE t.sku_id = buyer.sku_id AND t.kind = 'terms')
                                        THEN most ELSE per_buyer_limit END
    GROUP BY sku_id
) b USING (sku_id)
LEFT JOIN (
    SELECT sku_id, count(*) AS ragged
    FROM order_lines l
    WHERE ($1 = '' OR sku_id = $1)
      AND NOT EXISTS (SELECT FROM deductions d WHERE d.sku_id = l.sku_id AND d.order_id = l.order_id)
    GROUP BY sku_id
) l USING (sku_id)
LEFT JOIN (
    -- A commit of a part gives back as well, and has no amendment.
    SELECT sku_id, count(*) AS astray
    FROM deductions d LEFT JOIN (
        SELECT sku_id, order_id, sum(returned) AS units FROM amendments WHERE $1 = '' OR sku_id = $1 GROUP BY sku_id, order_id
    ) back USING (sku_id, order_id)
    WHERE ($1 = '' OR sku_id = $1) AND (d.asked IS NOT NULL OR back.units IS NOT NULL)
      AND CASE d.status
          WHEN 'reserved'  THEN d.quantity <> coalesce(d.asked, d.quantity) - coalesce(back.units, 0)
          WHEN 'committed' THEN d.quantity > coalesce(d.asked, d.quantity) - coalesce(back.units, 0)
          ELSE coalesce(back.units, 0) > coalesce(d.asked, d.quantity)
          END
    GROUP BY sku_id
) a USING (sku_id)
LEFT JOIN pruned f USING (sku_id)
WHERE $1 = '' OR k.sku_id = $1
ORDER BY k.sku_id
