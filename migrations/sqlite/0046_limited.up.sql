-- limited: taken while the SKU had a buyer limit. The index finds what uses a buyer's limit up; orders of other SKUs do not pay for it.
ALTER TABLE deductions ADD COLUMN limited INTEGER;
UPDATE deductions SET limited = true
WHERE sku_id IN (SELECT sku_id FROM skus WHERE per_buyer_limit > 0) AND buyer_id IS NOT NULL AND (status = 'reserved' OR status = 'committed');
CREATE INDEX IF NOT EXISTS deductions_by_buyer ON deductions (sku_id, buyer_id)
    WHERE limited AND (status = 'reserved' OR status = 'committed');
