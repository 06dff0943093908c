-- The ledger loses the units that pruned deductions have sold, so that every unit still adds up.
INSERT INTO movements (sku_id, ref, kind, quantity, reason, created_at)
SELECT p.sku_id, 'undone: 0032_pruned', 'adjust', -p.committed, 'sold by deductions that were pruned',
       max(unixepoch() * 1000000, coalesce((SELECT max(l.created_at) + 1 FROM movements l WHERE l.sku_id = p.sku_id), 0))
FROM pruned p WHERE p.committed > 0
ON CONFLICT (sku_id, ref) DO UPDATE SET quantity = quantity + excluded.quantity;
DROP TABLE pruned;
