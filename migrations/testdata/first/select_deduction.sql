SELECT coalesce(d.buyer_id, ''), d.quantity, d.status, coalesce(d.segment, p.segment), coalesce(p.quantity, d.quantity)
FROM deductions d LEFT JOIN deduction_parts p USING (sku_id, order_id)
WHERE d.sku_id = $1 AND d.order_id = $2
ORDER BY p.segment
