-- Stock taken for an order id; the primary key makes a deduction happen once.
-- The states are compared one by one: for a list (IN), SQLite builds a table in each statement.
-- segment is the one that gave all of it, null if deduction_parts lists several.
CREATE TABLE IF NOT EXISTS deductions (
    sku_id     TEXT    NOT NULL,
    order_id   TEXT    NOT NULL,
    buyer_id   TEXT,
    quantity   INTEGER NOT NULL CHECK (quantity BETWEEN 1 AND 1000000),
    segment    INTEGER,
    status     TEXT    NOT NULL CHECK (status = 'committed' OR status = 'reserved' OR status = 'cancelled' OR status = 'expired'),
    created_at INTEGER NOT NULL,
    PRIMARY KEY (sku_id, order_id)
) STRICT, WITHOUT ROWID;
