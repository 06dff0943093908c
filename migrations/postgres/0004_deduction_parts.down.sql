-- All units of a deduction count as given by its first segment: if it is cancelled, they go back there.
DO $$
BEGIN
    UPDATE deductions d SET segment = p.first
    FROM (SELECT sku_id, order_id, min(segment) AS first FROM deduction_parts GROUP BY sku_id, order_id) p
    WHERE p.sku_id = d.sku_id AND p.order_id = d.order_id AND d.segment IS NULL;
    DROP TABLE deduction_parts;
END $$;
