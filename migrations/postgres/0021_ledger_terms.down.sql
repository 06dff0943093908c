-- Changes of terms stay in the ledger: the constraint is for what is new.
ALTER TABLE movements
    DROP CONSTRAINT IF EXISTS movements_change_check,
    DROP COLUMN IF EXISTS terms;
