-- Fold deductions of an archived SKU into its sum, or count them. Which may go is in prune.go.
--
-- In:  $1 sku_id, $2 order ids, $3 the instant before which all has to have happened, $4 whether to count alone
-- Out: one row: how many deductions go, and how many units they hold
--
-- The caller holds the rows of all segments: so nobody gives units back, or counts buyers, meanwhile. A commit that comes again
-- locks a deduction alone: that one is left, and not waited for.
--
-- An order of several SKUs goes when each of its lines that are left may go. It is marked, and its lines go each with its SKU.
-- The outbox and the ledger stay as they are.
WITH old AS MATERIALIZED (
    SELECT id FROM unnest($2::text[]) AS asked (id)
    WHERE NOT EXISTS (
        SELECT FROM (
            SELECT $1 AS sku
            UNION
            SELECT l.sku_id FROM order_lines l JOIN order_lines own USING (order_id) WHERE own.order_id = id AND own.sku_id = $1
        ) AS line
        WHERE NOT EXISTS ({ended}))
), found AS MATERIALIZED (
    SELECT d.row, id, buyer_id, segment, CASE WHEN status = 'committed' THEN quantity ELSE 0 END AS units
    FROM old CROSS JOIN LATERAL (
        SELECT ctid AS row, * FROM deductions WHERE sku_id = $1 AND order_id = id FOR UPDATE SKIP LOCKED
    ) AS d
), going AS MATERIALIZED (
    SELECT * FROM found WHERE NOT $4::boolean
), bought AS MATERIALIZED (
    SELECT b.row, held, units FROM (SELECT buyer_id AS buyer, sum(units) AS held FROM going GROUP BY buyer_id) AS held
    CROSS JOIN LATERAL (SELECT ctid AS row, units FROM buyers WHERE sku_id = $1 AND buyer_id = buyer OFFSET 0) AS b
), forgotten AS (
    DELETE FROM buyers WHERE ctid = ANY (ARRAY(SELECT row FROM bought WHERE units = held))
), uncounted AS (
    UPDATE buyers n SET units = n.units - held FROM bought WHERE n.ctid = bought.row AND bought.units > held
), unamended AS (
    DELETE FROM amendments WHERE ctid = ANY (ARRAY(
        SELECT a.row FROM going CROSS JOIN LATERAL (SELECT ctid AS row FROM amendments WHERE sku_id = $1 AND order_id = id OFFSET 0) AS a))
), unparted AS (
    DELETE FROM deduction_parts WHERE ctid = ANY (ARRAY(
        SELECT p.row FROM going CROSS JOIN LATERAL (SELECT ctid AS row FROM deduction_parts WHERE sku_id = $1 AND order_id = id OFFSET 0) AS p))
), unlisted AS (
    DELETE FROM order_lines WHERE ctid = ANY (ARRAY(
        SELECT l.row FROM going CROSS JOIN LATERAL (SELECT ctid AS row FROM order_lines WHERE order_id = id AND sku_id = $1 OFFSET 0) AS l))
    RETURNING order_id
), marked AS (
    UPDATE orders SET pruned = true
    WHERE ctid = ANY (ARRAY(
        SELECT o.row FROM unlisted CROSS JOIN LATERAL (SELECT ctid AS row, pruned FROM orders WHERE order_id = unlisted.order_id OFFSET 0) AS o
        WHERE NOT o.pruned))
), gone AS (
    DELETE FROM deductions WHERE ctid = ANY (ARRAY(SELECT row FROM going))
), folded AS (
    INSERT INTO pruned AS p (sku_id, deductions, committed, merges)
    SELECT $1, count(*), sum(units), count(*) FILTER (WHERE segment IS NULL) FROM going HAVING count(*) > 0
    ON CONFLICT (sku_id) DO UPDATE SET
        deductions = p.deductions + excluded.deductions, committed = p.committed + excluded.committed, merges = p.merges + excluded.merges
)
SELECT count(*), coalesce(sum(units), 0)::bigint FROM found
