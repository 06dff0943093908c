-- In: the first name of a SKU, and the first behind the last one. Out: a deduction in each row.
SELECT sku_id, order_id, coalesce(buyer_id, ''), coalesce(asked, quantity), quantity, status, created_at, expires_at,
       committed_at, ended_at, coalesce(removed, false)
  FROM deductions
 WHERE sku_id >= $1 AND sku_id < $2
