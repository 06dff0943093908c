CREATE TABLE IF NOT EXISTS order_lines (
    order_id text COLLATE "C" NOT NULL REFERENCES orders (order_id),
    sku_id   text COLLATE "C" NOT NULL,
    quantity integer NOT NULL CHECK (quantity BETWEEN 1 AND 1000000),
    PRIMARY KEY (order_id, sku_id)
);
