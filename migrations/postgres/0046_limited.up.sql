-- limited: taken while the SKU had a buyer limit. The index finds what uses a buyer's limit up; orders of other SKUs do not pay for it.
ALTER TABLE deductions ADD COLUMN IF NOT EXISTS limited boolean;
UPDATE deductions d SET limited = true FROM skus k
WHERE k.sku_id = d.sku_id AND k.per_buyer_limit > 0 AND d.buyer_id IS NOT NULL AND (d.status = 'reserved' OR d.status = 'committed');
CREATE INDEX IF NOT EXISTS deductions_by_buyer ON deductions (sku_id, buyer_id)
    WHERE limited AND (status = 'reserved' OR status = 'committed');
