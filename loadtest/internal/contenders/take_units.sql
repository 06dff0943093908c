-- Take one unit from a segment: the first of two statements of a transaction, insert_order.sql is the second.
--
-- In:  $1 sku_id, $2 segment
-- Out: nothing; one row is updated, or none where the segment is empty
UPDATE stock_segments
SET available = available - 1, version = version + 1
WHERE sku_id = $1 AND segment = $2 AND available >= 1
