-- fills: the sums of the movements that are there
--
-- A movement that is written meanwhile adds what is later than moved_until itself (insert_movement). Then moved_until is another one, and the
-- SKU is left as it is.
WITH next AS MATERIALIZED (
    SELECT sku_id, moved_until FROM skus WHERE sku_id > current_setting('inventory.after')
    ORDER BY sku_id LIMIT current_setting('inventory.batch')::bigint
), added AS MATERIALIZED (
    SELECT next.sku_id, next.moved_until AS since, later.units, later.until
    FROM next CROSS JOIN LATERAL (
        SELECT sum(quantity) AS units, max(created_at) AS until FROM movements
        WHERE sku_id = next.sku_id AND created_at > coalesce(next.moved_until, '-infinity')
    ) AS later
    WHERE later.until IS NOT NULL
), filled AS (
    UPDATE skus k SET moved = k.moved + added.units, moved_until = added.until
    FROM added WHERE k.sku_id = added.sku_id AND k.moved_until IS NOT DISTINCT FROM added.since
    RETURNING 1
)
SELECT (SELECT count(*) FROM next), (SELECT max(sku_id) FROM next), (SELECT reltuples::bigint FROM pg_class WHERE oid = 'skus'::regclass);
