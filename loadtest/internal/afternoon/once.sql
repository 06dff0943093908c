-- Take the units of an order and write down its lines, all or nothing, in one statement. It fails if the order is there.
--
-- In:  $1 order id, $2 skus, $3 units of each
-- Out: nothing; a row is inserted for each line, or none where there are too few
WITH wanted AS (
    SELECT sku, quantity, line FROM unnest($2::text[], $3::bigint[]) WITH ORDINALITY AS l (sku, quantity, line)
), locked AS ( -- in one order, so that no two wait for each other
    SELECT p.sku, p.stock, w.quantity FROM products p JOIN wanted w USING (sku) ORDER BY p.sku FOR UPDATE OF p
), enough AS (
    SELECT count(*) = cardinality($2) AND bool_and(stock >= quantity) AS possible FROM locked
), taken AS (
    UPDATE products p SET stock = p.stock - l.quantity FROM locked l WHERE p.sku = l.sku AND (SELECT possible FROM enough)
)
INSERT INTO orders (order_id, line, sku, quantity)
SELECT $1, line, sku, quantity FROM wanted WHERE (SELECT possible FROM enough)
