-- Orders that were accepted before, with random UUIDs, one unit each, from all segments in turn.
--
-- In:  $1 sku_id, $2 how many, $3 the number of segments
-- Out: nothing; their units are taken by take_filled.sql
INSERT INTO deductions (sku_id, order_id, quantity, segment, status, created_at)
SELECT $1, gen_random_uuid()::text, 1, n % $3::integer, 'committed', now()
FROM generate_series(1, $2::bigint) AS n
