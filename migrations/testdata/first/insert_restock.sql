INSERT INTO movements (sku_id, ref, kind, quantity, reason, created_at) VALUES ($1, $2, 'restock', $3, $4, $5)
ON CONFLICT (sku_id, ref) DO NOTHING
