-- Lines of orders of several SKUs that an older version took are marked as lines, so that they too are settled only together. On
-- Citus an order's lines are in another shard than their deductions: so they are read first.
WITH lines AS MATERIALIZED (SELECT sku_id, order_id FROM order_lines)
UPDATE deductions d SET in_order = true FROM lines l
WHERE d.sku_id = l.sku_id AND d.order_id = l.order_id AND d.in_order IS NULL;
