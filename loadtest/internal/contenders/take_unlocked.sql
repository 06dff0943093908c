-- Take one unit for an order from any segment whose row nobody has locked, in one statement.
--
-- In:  $1 sku_id, $2 order id
-- Out: nothing; one row is inserted, or none where every row is locked or empty
WITH free AS (
    SELECT segment FROM stock_segments
    WHERE sku_id = $1 AND available >= 1
    LIMIT 1
    FOR UPDATE SKIP LOCKED
), taken AS (
    UPDATE stock_segments s
    SET available = available - 1, version = version + 1
    FROM free
    WHERE s.sku_id = $1 AND s.segment = free.segment
    RETURNING s.segment
)
INSERT INTO deductions (sku_id, order_id, quantity, segment, status, created_at)
SELECT $1, $2, 1, segment, 'committed', now() FROM taken
