-- What each buyer holds of a SKU that has a buyer limit: the units of live deductions. The limit is a constraint of the
-- row.
CREATE TABLE IF NOT EXISTS buyers (
    sku_id   TEXT    NOT NULL,
    buyer_id TEXT    NOT NULL,
    units    INTEGER NOT NULL CHECK (units >= 0),
    most     INTEGER NOT NULL,
    PRIMARY KEY (sku_id, buyer_id),
    CHECK (units <= most)
) STRICT, WITHOUT ROWID;
