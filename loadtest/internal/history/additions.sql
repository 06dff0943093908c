-- In: the first name of a SKU, and the first behind the last one. Out: an addition to a deduction in each row.
SELECT sku_id, order_id, units - ended
  FROM additions
 WHERE sku_id >= $1 AND sku_id < $2
