-- adds: the changes of the lines of orders
CREATE TABLE order_changes (
    order_id   TEXT    NOT NULL,
    ref        TEXT    NOT NULL,
    lines      TEXT    NOT NULL,
    buyer_id   TEXT,
    write_off  INTEGER NOT NULL,
    reason     TEXT,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (order_id, ref)
) STRICT, WITHOUT ROWID;

ALTER TABLE deductions ADD COLUMN revision INTEGER;
ALTER TABLE deductions ADD COLUMN removed INTEGER;
ALTER TABLE orders ADD COLUMN ordered_by TEXT;
