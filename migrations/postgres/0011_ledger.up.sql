-- A resegment is in the ledger too: it does not change how much stock there is, only where.
ALTER TABLE movements
    ADD COLUMN IF NOT EXISTS segments integer,
    DROP CONSTRAINT IF EXISTS movements_kind_check,
    DROP CONSTRAINT IF EXISTS movements_quantity_check,
    DROP CONSTRAINT IF EXISTS movements_change_check,
    ADD CONSTRAINT movements_change_check CHECK (
        (kind IN ('restock', 'adjust') AND quantity <> 0 AND segments IS NULL)
        OR (kind = 'resegment' AND quantity = 0 AND segments BETWEEN 1 AND 1024));
