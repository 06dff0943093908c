-- Write down the lines of an order: the last statement of its transaction. It fails if the order is there.
--
-- In:  $1 order id, $2 skus, $3 units of each
-- Out: nothing
INSERT INTO orders (order_id, line, sku, quantity)
SELECT $1, line, sku, quantity FROM unnest($2::text[], $3::bigint[]) WITH ORDINALITY AS l (sku, quantity, line)
