-- Take one unit from a segment for an order, in one statement and so in one transaction.
--
-- In:  $1 sku_id, $2 segment, $3 order id
-- Out: nothing; one row is inserted, or none where the segment is empty
WITH taken AS (
    UPDATE stock_segments
    SET available = available - 1, version = version + 1
    WHERE sku_id = $1 AND segment = $2 AND available >= 1
    RETURNING segment
)
INSERT INTO deductions (sku_id, order_id, quantity, segment, status, created_at)
SELECT $1, $3, 1, segment, 'committed', now() FROM taken
