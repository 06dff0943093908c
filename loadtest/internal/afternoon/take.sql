-- Take units of one product: the first statements of the transaction of an order.
--
-- In:  $1 sku, $2 units
-- Out: nothing; one row is updated, or none where there are too few
UPDATE products SET stock = stock - $2 WHERE sku = $1 AND stock >= $2
