SELECT order_id, coalesce(buyer_id, ''), quantity, status
FROM deductions WHERE sku_id = $1 AND order_id = ANY ($2::text[])
