-- Take the units of orders that were filled in.
--
-- In:  $1 sku_id
-- Out: nothing
UPDATE stock_segments s
SET available = available - taken.units
FROM (SELECT segment, sum(quantity) AS units FROM deductions WHERE sku_id = $1 GROUP BY segment) AS taken
WHERE s.sku_id = $1 AND s.segment = taken.segment
