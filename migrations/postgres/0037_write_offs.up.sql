-- A write-off is in the ledger: units that came back, and are not sold again.
ALTER TABLE movements
    DROP CONSTRAINT IF EXISTS movements_change_check,
    ADD CONSTRAINT movements_change_check CHECK (
        (kind IN ('restock', 'adjust') AND quantity <> 0 AND segments IS NULL AND terms IS NULL)
        OR (kind = 'write_off' AND quantity < 0 AND segments IS NULL AND terms IS NULL)
        OR (kind = 'resegment' AND quantity = 0 AND segments BETWEEN 1 AND 1024 AND terms IS NULL)
        OR (kind = 'terms' AND quantity = 0 AND segments IS NULL));
