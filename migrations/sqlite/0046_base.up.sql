-- base: the schema of 0.1.0. What the tables and columns mean stands in the one of PostgreSQL. Times are microseconds.
CREATE TABLE skus (
    sku_id          TEXT    NOT NULL PRIMARY KEY,
    name            TEXT    NOT NULL,
    initial         INTEGER NOT NULL CHECK (initial BETWEEN 0 AND 1000000000),
    segments        INTEGER NOT NULL CHECK (segments BETWEEN 1 AND 1024),
    created_at      INTEGER NOT NULL,
    layout          INTEGER NOT NULL DEFAULT 1,
    sale_starts_at  INTEGER,
    sale_ends_at    INTEGER,
    per_buyer_limit INTEGER CHECK (per_buyer_limit > 0),
    max_quantity    INTEGER CHECK (max_quantity > 0),
    max_reserve_us  INTEGER CHECK (max_reserve_us > 0),
    kept            INTEGER NOT NULL DEFAULT 0,
    archived_at     INTEGER
) STRICT, WITHOUT ROWID;

CREATE TABLE stock_segments (
    sku_id      TEXT    NOT NULL REFERENCES skus (sku_id),
    segment     INTEGER NOT NULL CHECK (segment >= 0),
    available   INTEGER NOT NULL CHECK (available >= 0),
    fence       INTEGER NOT NULL DEFAULT 0,
    fence_owner TEXT    NOT NULL DEFAULT '',
    version     INTEGER NOT NULL DEFAULT 0,
    layout      INTEGER NOT NULL DEFAULT 1,
    reserved    INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (sku_id, segment)
) STRICT, WITHOUT ROWID;

CREATE TABLE deductions (
    sku_id         TEXT    NOT NULL,
    order_id       TEXT    NOT NULL,
    buyer_id       TEXT,
    quantity       INTEGER NOT NULL CHECK (quantity BETWEEN 1 AND 1000000),
    segment        INTEGER,
    status         TEXT    NOT NULL
        CHECK (status = 'committed' OR status = 'reserved' OR status = 'cancelled' OR status = 'expired' OR status = 'returned'),
    created_at     INTEGER NOT NULL,
    asked          INTEGER,
    expires_at     INTEGER,
    reserve_micros INTEGER,
    committed      INTEGER,
    committed_at   INTEGER,
    ended_at       INTEGER,
    in_order       INTEGER,
    written_off    INTEGER,
    limited        INTEGER,
    PRIMARY KEY (sku_id, order_id)
) STRICT, WITHOUT ROWID;

CREATE INDEX deductions_by_expiry ON deductions (sku_id, expires_at) WHERE status = 'reserved';

CREATE INDEX deductions_by_buyer ON deductions (sku_id, buyer_id) WHERE limited AND (status = 'reserved' OR status = 'committed');

CREATE TABLE deduction_parts (
    sku_id   TEXT    NOT NULL,
    order_id TEXT    NOT NULL,
    segment  INTEGER NOT NULL,
    quantity INTEGER NOT NULL CHECK (quantity > 0),
    PRIMARY KEY (sku_id, order_id, segment),
    FOREIGN KEY (sku_id, order_id) REFERENCES deductions (sku_id, order_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE amendments (
    sku_id          TEXT    NOT NULL,
    order_id        TEXT    NOT NULL,
    ref             TEXT    NOT NULL,
    returned        INTEGER CHECK (returned BETWEEN 1 AND 1000000),
    extended_micros INTEGER CHECK (extended_micros > 0),
    created_at      INTEGER NOT NULL,
    kind            TEXT CHECK (kind IN ('extend', 'cancel', 'return', 'write_off')),
    reason          TEXT,
    PRIMARY KEY (sku_id, order_id, ref),
    FOREIGN KEY (sku_id, order_id) REFERENCES deductions (sku_id, order_id),
    CHECK ((returned IS NULL) <> (extended_micros IS NULL))
) STRICT, WITHOUT ROWID;

CREATE TABLE movements (
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

CREATE INDEX movements_by_time ON movements (sku_id, created_at, ref);

CREATE TABLE buyers (
    sku_id   TEXT    NOT NULL,
    buyer_id TEXT    NOT NULL,
    units    INTEGER NOT NULL CHECK (units >= 0),
    most     INTEGER NOT NULL,
    PRIMARY KEY (sku_id, buyer_id),
    CHECK (units <= most)
) STRICT, WITHOUT ROWID;

CREATE TABLE pruned (
    sku_id     TEXT    NOT NULL PRIMARY KEY REFERENCES skus (sku_id),
    deductions INTEGER NOT NULL CHECK (deductions > 0),
    committed  INTEGER NOT NULL CHECK (committed >= 0),
    merges     INTEGER NOT NULL CHECK (merges >= 0)
) STRICT, WITHOUT ROWID;

CREATE TABLE orders (
    order_id       TEXT    NOT NULL PRIMARY KEY,
    buyer_id       TEXT,
    reserve_micros INTEGER NOT NULL DEFAULT 0,
    created_at     INTEGER NOT NULL,
    pruned         INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;

CREATE TABLE order_lines (
    order_id TEXT    NOT NULL REFERENCES orders (order_id),
    sku_id   TEXT    NOT NULL,
    quantity INTEGER NOT NULL CHECK (quantity BETWEEN 1 AND 1000000),
    PRIMARY KEY (order_id, sku_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE outbox (
    position    INTEGER PRIMARY KEY AUTOINCREMENT,
    sku_id      TEXT    NOT NULL,
    order_id    TEXT    NOT NULL,
    buyer_id    TEXT,
    quantity    INTEGER NOT NULL,
    status      TEXT    NOT NULL,
    at          INTEGER NOT NULL,
    written_off INTEGER
) STRICT;
