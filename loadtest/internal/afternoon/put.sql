-- Put a product up for sale.
--
-- In:  $1 sku, $2 units
-- Out: nothing
INSERT INTO products (sku, initial, stock) VALUES ($1, $2, $2)
