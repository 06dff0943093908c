-- base: removes all tables, which must be empty of SKUs.
DO $$
BEGIN
    IF EXISTS (SELECT 1 FROM skus) THEN
        RAISE EXCEPTION 'there are SKUs, which would be lost';
    END IF;
END $$;
DROP TABLE outbox, order_lines, orders, pruned, buyers, movements, amendments, deduction_parts, deductions, stock_segments, skus CASCADE;
DROP FUNCTION IF EXISTS inventory_require(boolean, bigint), outbox_inserted(), outbox_changed();
