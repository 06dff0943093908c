-- In: the first name of a SKU, and the first behind the last one. Out: an amendment in each row, an extension in nanoseconds.
SELECT sku_id, order_id, ref, coalesce(kind, ''), coalesce(returned, 0), 1000 * coalesce(extended_micros, 0), created_at
  FROM amendments
 WHERE sku_id >= $1 AND sku_id < $2
