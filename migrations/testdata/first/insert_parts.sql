INSERT INTO deduction_parts (sku_id, order_id, segment, quantity)
SELECT $1, o, s, q FROM unnest($2::text[], $3::integer[], $4::integer[]) AS part (o, s, q)
