-- Stock taken for an order id; the primary key makes a deduction happen once.
-- segment is the one that gave all of it, null if deduction_parts lists several.
-- No foreign key to skus: rows are inserted from a locked row of stock_segments, which has one, and a key check
-- for every order of a hot SKU would lock that one row of skus each time.
CREATE TABLE IF NOT EXISTS deductions (
    sku_id     text COLLATE "C" NOT NULL,
    order_id   text COLLATE "C" NOT NULL,
    buyer_id   text COLLATE "C",
    quantity   integer     NOT NULL CHECK (quantity BETWEEN 1 AND 1000000),
    segment    integer,
    status     text COLLATE "C" NOT NULL CHECK (status IN ('reserved', 'committed', 'cancelled', 'expired')),
    created_at timestamptz NOT NULL,
    PRIMARY KEY (sku_id, order_id)
);
