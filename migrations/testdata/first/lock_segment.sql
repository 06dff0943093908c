SELECT available, fence, fence_owner FROM stock_segments WHERE sku_id = $1 AND segment = $2 FOR UPDATE
