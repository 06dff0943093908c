-- The stock of a SKU, in parts that are sold side by side. available is the last guard against overselling.
-- fence and fence_owner are the newest lock that has written; an older one writes nothing.
CREATE TABLE IF NOT EXISTS stock_segments (
    sku_id      TEXT    NOT NULL REFERENCES skus (sku_id),
    segment     INTEGER NOT NULL CHECK (segment >= 0),
    available   INTEGER NOT NULL CHECK (available >= 0),
    fence       INTEGER NOT NULL DEFAULT 0,
    fence_owner TEXT    NOT NULL DEFAULT '',
    version     INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (sku_id, segment)
) STRICT, WITHOUT ROWID;
