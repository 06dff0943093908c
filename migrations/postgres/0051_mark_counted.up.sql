-- fills: which orders are counted for a buyer limit
--
-- The mark of a deduction (limited) says that its units are counted. 0.1.0 marked 10,000 deductions when a SKU got its first limit, although
-- it counted all, and left the marks when it took the limit away. The key is that of a deduction, after its SKU and a blank; or a SKU whose
-- deductions are all done, and a character that is below those of SKUs.
WITH done AS MATERIALIZED (
    SELECT split_part(key, ' ', 1) AS sku, CASE WHEN strpos(key, ' ') > 0 THEN substr(key, strpos(key, ' ') + 1) ELSE '' END AS id
    FROM (SELECT current_setting('inventory.after') AS key) AS last
), at AS MATERIALIZED (
    SELECT k.sku_id, k.per_buyer_limit IS NOT NULL AS counts, CASE WHEN k.sku_id = done.sku THEN done.id ELSE '' END AS id
    FROM done CROSS JOIN LATERAL (
        SELECT sku_id, per_buyer_limit FROM skus
        WHERE sku_id >= done.sku COLLATE "C" AND (per_buyer_limit IS NOT NULL
            OR EXISTS (SELECT 1 FROM movements m WHERE m.sku_id = skus.sku_id AND m.kind = 'terms' AND m.terms LIKE '%per_buyer_limit%'))
        ORDER BY sku_id LIMIT 1
    ) AS k
), next AS MATERIALIZED (
    SELECT d.* FROM at AS after CROSS JOIN LATERAL (
        SELECT order_id, limited IS DISTINCT FROM nullif(after.counts, false) AND buyer_id IS NOT NULL
                         AND (status = 'reserved' OR status = 'committed') AS differs
        FROM deductions WHERE sku_id = after.sku_id AND order_id > after.id
        ORDER BY order_id LIMIT current_setting('inventory.batch')::bigint
    ) AS d
), filled AS (
    UPDATE deductions d SET limited = nullif(at.counts, false)
    FROM at WHERE d.sku_id = at.sku_id AND d.order_id = ANY (ARRAY(SELECT order_id FROM next WHERE differs))
    RETURNING 1
)
SELECT (SELECT count(*) FROM next),
       (SELECT CASE WHEN (SELECT count(*) FROM next) < current_setting('inventory.batch')::bigint THEN sku_id || '!'
                    ELSE sku_id || ' ' || (SELECT max(order_id) FROM next) END FROM at),
       (SELECT reltuples::bigint FROM pg_class WHERE oid = 'deductions'::regclass);
