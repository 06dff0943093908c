-- A write-off is in the ledger: units that came back, and are not sold again. To change a constraint, SQLite needs a new table.
CREATE TABLE movements_new (
    sku_id     TEXT    NOT NULL REFERENCES skus (sku_id),
    ref        TEXT    NOT NULL,
    kind       TEXT    NOT NULL,
    quantity   INTEGER NOT NULL,
    segments   INTEGER,
    terms      TEXT,
    reason     TEXT    NOT NULL,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (sku_id, ref),
    CHECK ((kind IN ('restock', 'adjust') AND quantity <> 0 AND segments IS NULL AND terms IS NULL)
        OR (kind = 'write_off' AND quantity < 0 AND segments IS NULL AND terms IS NULL)
        OR (kind = 'resegment' AND quantity = 0 AND segments BETWEEN 1 AND 1024 AND terms IS NULL)
        OR (kind = 'terms' AND quantity = 0 AND segments IS NULL))
) STRICT, WITHOUT ROWID;
INSERT INTO movements_new (sku_id, ref, kind, quantity, segments, terms, reason, created_at)
SELECT sku_id, ref, kind, quantity, segments, terms, reason, created_at FROM movements;
DROP TABLE movements;
ALTER TABLE movements_new RENAME TO movements;
CREATE INDEX movements_by_time ON movements (sku_id, created_at, ref);
