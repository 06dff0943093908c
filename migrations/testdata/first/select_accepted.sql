SELECT order_id FROM deductions WHERE sku_id = $1 LIMIT $2
