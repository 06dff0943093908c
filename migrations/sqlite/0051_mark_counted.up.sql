-- fills: which orders are counted for a buyer limit
UPDATE deductions SET limited = CASE WHEN (SELECT per_buyer_limit FROM skus k WHERE k.sku_id = deductions.sku_id) IS NOT NULL THEN 1 END
WHERE buyer_id IS NOT NULL AND (status = 'reserved' OR status = 'committed')
  AND coalesce(limited, 0) <> ((SELECT per_buyer_limit FROM skus k WHERE k.sku_id = deductions.sku_id) IS NOT NULL);
