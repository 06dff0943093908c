-- Orders of several SKUs. Each line is a deduction of its SKU under the same order id.
CREATE TABLE IF NOT EXISTS orders (
    order_id       text COLLATE "C" PRIMARY KEY,
    buyer_id       text COLLATE "C",
    reserve_micros bigint      NOT NULL DEFAULT 0,
    created_at     timestamptz NOT NULL
);
