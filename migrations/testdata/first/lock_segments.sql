SELECT available, fence, fence_owner FROM stock_segments WHERE sku_id = $1 ORDER BY segment FOR UPDATE
