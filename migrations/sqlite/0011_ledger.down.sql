-- Resegments and changes of terms are deleted: they changed no stock, and the older ledger cannot hold them.
CREATE TABLE movements_old (
    sku_id     TEXT    NOT NULL REFERENCES skus (sku_id),
    ref        TEXT    NOT NULL,
    kind       TEXT    NOT NULL CHECK (kind IN ('restock', 'adjust')),
    quantity   INTEGER NOT NULL CHECK (quantity <> 0),
    reason     TEXT    NOT NULL,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (sku_id, ref)
) STRICT, WITHOUT ROWID;
INSERT INTO movements_old (sku_id, ref, kind, quantity, reason, created_at)
SELECT sku_id, ref, kind, quantity, reason, created_at FROM movements WHERE kind IN ('restock', 'adjust');
DROP TABLE movements;
ALTER TABLE movements_old RENAME TO movements;
