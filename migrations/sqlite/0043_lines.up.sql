-- Lines of orders of several SKUs that an older version took are marked as lines, so that they too are settled only together.
UPDATE deductions SET in_order = true FROM order_lines l
WHERE deductions.sku_id = l.sku_id AND deductions.order_id = l.order_id AND in_order IS NULL;
