-- Changes of terms stay in the ledger: the constraint applies only to new rows.
ALTER TABLE movements
    DROP CONSTRAINT IF EXISTS movements_change_check,
    DROP COLUMN IF EXISTS terms,
    ADD CONSTRAINT movements_change_check CHECK (
        (kind IN ('restock', 'adjust') AND quantity <> 0 AND segments IS NULL)
        OR (kind = 'resegment' AND quantity = 0 AND segments BETWEEN 1 AND 1024)) NOT VALID;
