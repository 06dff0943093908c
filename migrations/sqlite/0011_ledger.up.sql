-- A resegment is in the ledger too: it does not change how much stock there is, only where. To change a constraint, SQLite
-- needs a new table.
CREATE TABLE movements_new (
    sku_id     TEXT    NOT NULL REFERENCES skus (sku_id),
    ref        TEXT    NOT NULL,
    kind       TEXT    NOT NULL,
    quantity   INTEGER NOT NULL,
    segments   INTEGER,
    reason     TEXT    NOT NULL,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (sku_id, ref),
    CHECK ((kind IN ('restock', 'adjust') AND quantity <> 0 AND segments IS NULL)
        OR (kind = 'resegment' AND quantity = 0 AND segments BETWEEN 1 AND 1024))
) STRICT, WITHOUT ROWID;
INSERT INTO movements_new (sku_id, ref, kind, quantity, reason, created_at)
SELECT sku_id, ref, kind, quantity, reason, created_at FROM movements;
DROP TABLE movements;
ALTER TABLE movements_new RENAME TO movements;
