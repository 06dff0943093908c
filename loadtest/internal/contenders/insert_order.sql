-- Write down an order of one unit.
--
-- In:  $1 sku_id, $2 segment it was taken from, $3 order id
-- Out: nothing
INSERT INTO deductions (sku_id, order_id, quantity, segment, status, created_at)
VALUES ($1, $3, 1, $2, 'committed', now())
