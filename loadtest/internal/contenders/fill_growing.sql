-- Orders that were accepted before, with UUIDs of version 7, one a millisecond up to now, one unit each, from all
-- segments in turn.
--
-- In:  $1 sku_id, $2 how many, $3 the number of segments
-- Out: nothing; their units are taken by take_filled.sql
INSERT INTO deductions (sku_id, order_id, quantity, segment, status, created_at)
SELECT $1, substr(at, 1, 8) || '-' || substr(at, 9, 4) || '-7' || substr(random, 16), 1, n % $3::integer, 'committed', now()
FROM generate_series(1, $2::bigint) AS n,
     LATERAL (SELECT lpad(to_hex((extract(epoch FROM now()) * 1000)::bigint - $2::bigint + n), 12, '0') AS at,
                     gen_random_uuid()::text AS random) AS id
