-- A line is inserted with its order, in one statement, and orders are never deleted: the key to orders found nothing, and its check
-- cost as much as the line.
ALTER TABLE order_lines DROP CONSTRAINT IF EXISTS order_lines_order_id_fkey
