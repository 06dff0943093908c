-- adds: the units that were taken for deductions later than their orders were
CREATE TABLE additions (
    sku_id     TEXT    NOT NULL,
    order_id   TEXT    NOT NULL,
    ref        TEXT    NOT NULL,
    kind       TEXT    NOT NULL,
    units      INTEGER NOT NULL CHECK (units BETWEEN 1 AND 1000000),
    ended      INTEGER NOT NULL DEFAULT 0,
    ended_at   INTEGER,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (sku_id, order_id, ref)
) STRICT, WITHOUT ROWID;
