-- The ledger loses the units that pruned deductions have sold, so that every unit still adds up.
DO $$
BEGIN
    INSERT INTO movements AS m (sku_id, ref, kind, quantity, reason, created_at)
    SELECT p.sku_id, 'undone: 0032_pruned', 'adjust', -p.committed, 'sold by deductions that were pruned',
           greatest(now(), (SELECT max(l.created_at) + interval '1 microsecond' FROM movements l WHERE l.sku_id = p.sku_id))
    FROM pruned p WHERE p.committed > 0
    ON CONFLICT (sku_id, ref) DO UPDATE SET quantity = m.quantity + excluded.quantity;
    DROP TABLE pruned;
END $$;
