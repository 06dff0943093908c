-- What is sold. initial never changes: later changes are rows of movements. Times are Unix microseconds.
CREATE TABLE IF NOT EXISTS skus (
    sku_id     TEXT    NOT NULL PRIMARY KEY,
    name       TEXT    NOT NULL,
    initial    INTEGER NOT NULL CHECK (initial BETWEEN 0 AND 1000000000),
    segments   INTEGER NOT NULL CHECK (segments BETWEEN 1 AND 1024),
    created_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
