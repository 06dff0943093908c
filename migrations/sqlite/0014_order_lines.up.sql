CREATE TABLE IF NOT EXISTS order_lines (
    order_id TEXT    NOT NULL REFERENCES orders (order_id),
    sku_id   TEXT    NOT NULL,
    quantity INTEGER NOT NULL CHECK (quantity BETWEEN 1 AND 1000000),
    PRIMARY KEY (order_id, sku_id)
) STRICT, WITHOUT ROWID;
