INSERT INTO deductions (sku_id, order_id, buyer_id, quantity, segment, status, created_at)
SELECT $1, o, nullif(b, ''), q, $2, 'committed', $6
FROM unnest($3::text[], $4::text[], $5::integer[]) AS asked (o, b, q)
ORDER BY o COLLATE "C"
ON CONFLICT (sku_id, order_id) DO NOTHING
RETURNING order_id
