INSERT INTO deductions (sku_id, order_id, buyer_id, quantity, segment, status, created_at)
SELECT $1, o, nullif(b, ''), q, nullif(s, -1), 'committed', $6
FROM unnest($2::text[], $3::text[], $4::integer[], $5::integer[]) AS asked (o, b, q, s)
ORDER BY o COLLATE "C"
