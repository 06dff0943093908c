-- Look whether an order was sold.
--
-- In:  $1 order id
-- Out: whether it was
SELECT EXISTS (SELECT 1 FROM orders WHERE order_id = $1)
