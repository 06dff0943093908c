-- Units of each product: at the beginning, what is left, and what orders have.
--
-- In:  nothing
-- Out: sku, units at first, units left, units of orders
SELECT sku, initial, stock, coalesce(sum(o.quantity), 0)::bigint
FROM products LEFT JOIN orders o USING (sku)
GROUP BY sku
