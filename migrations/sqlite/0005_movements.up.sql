-- The ledger: every change of stock that is not a deduction. ref makes it happen once.
CREATE TABLE IF NOT EXISTS movements (
    sku_id     TEXT    NOT NULL REFERENCES skus (sku_id),
    ref        TEXT    NOT NULL,
    kind       TEXT    NOT NULL CHECK (kind IN ('restock', 'adjust')),
    quantity   INTEGER NOT NULL CHECK (quantity <> 0),
    reason     TEXT    NOT NULL,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (sku_id, ref)
) STRICT, WITHOUT ROWID;
