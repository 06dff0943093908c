-- In: the first name of a SKU, and the first behind the last one: ids of orders begin as they do. Out: a change of an order in each row.
SELECT order_id, ref, lines, coalesce(buyer_id, ''), created_at
  FROM order_changes
 WHERE order_id >= $1 AND order_id < $2
