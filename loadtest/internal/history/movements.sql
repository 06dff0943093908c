-- In: the first name of a SKU, and the first behind the last one. Out: a line of the ledger in each row.
SELECT sku_id, ref, kind, coalesce(segments, quantity)
  FROM movements
 WHERE sku_id >= $1 AND sku_id < $2
