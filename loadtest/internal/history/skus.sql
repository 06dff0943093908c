-- In: the first name of a SKU, and the first behind the last one. Out: the stock of a SKU in each row, and how many of its
-- deductions took from several segments.
SELECT sku_id, initial,
       (SELECT CAST(sum(available) AS bigint) FROM stock_segments s WHERE s.sku_id = k.sku_id),
       (SELECT count(*) FROM deductions d WHERE d.sku_id = k.sku_id AND d.segment IS NULL)
  FROM skus k
 WHERE sku_id >= $1 AND sku_id < $2
 ORDER BY sku_id
