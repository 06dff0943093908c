-- What was done to deductions that stay: a part was given back, or a reservation was extended. The primary key makes each
-- happen once. A row is written under the lock of its deduction's row, and never changed.
CREATE TABLE IF NOT EXISTS amendments (
    sku_id          text COLLATE "C" NOT NULL,
    order_id        text COLLATE "C" NOT NULL,
    ref             text COLLATE "C" NOT NULL,
    returned        integer CHECK (returned BETWEEN 1 AND 1000000),
    extended_micros bigint  CHECK (extended_micros > 0),
    created_at      timestamptz NOT NULL,
    PRIMARY KEY (sku_id, order_id, ref),
    FOREIGN KEY (sku_id, order_id) REFERENCES deductions (sku_id, order_id),
    CHECK (num_nonnulls(returned, extended_micros) = 1)
);
