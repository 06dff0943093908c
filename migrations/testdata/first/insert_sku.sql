INSERT INTO skus (sku_id, name, initial, segments, created_at) VALUES ($1, $2, $3, $4, $5)
ON CONFLICT (sku_id) DO NOTHING
