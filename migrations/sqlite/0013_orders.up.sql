-- Orders of several SKUs. Each line is a deduction of its SKU under the same order id.
CREATE TABLE IF NOT EXISTS orders (
    order_id       TEXT    NOT NULL PRIMARY KEY,
    buyer_id       TEXT,
    reserve_micros INTEGER NOT NULL DEFAULT 0,
    created_at     INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
