-- What there was of each product, what is left, and what orders have of it.
--
-- In:  nothing
-- Out: sku, units at first, units left, units of orders
SELECT sku, initial, stock, coalesce(sum(o.quantity), 0)::bigint
FROM products LEFT JOIN orders o USING (sku)
GROUP BY sku
