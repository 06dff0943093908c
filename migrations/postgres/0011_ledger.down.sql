-- Resegments and changes of terms are deleted: they changed no stock, and the older ledger cannot hold them.
DO $$
BEGIN
    DELETE FROM movements WHERE kind NOT IN ('restock', 'adjust');
    ALTER TABLE movements
        DROP CONSTRAINT IF EXISTS movements_change_check,
        DROP COLUMN IF EXISTS segments,
        ADD CONSTRAINT movements_kind_check CHECK (kind IN ('restock', 'adjust')),
        ADD CONSTRAINT movements_quantity_check CHECK (quantity <> 0);
END $$;
