-- What each segment gave to a deduction that took from several.
CREATE TABLE IF NOT EXISTS deduction_parts (
    sku_id   text COLLATE "C" NOT NULL,
    order_id text COLLATE "C" NOT NULL,
    segment  integer NOT NULL,
    quantity integer NOT NULL CHECK (quantity > 0),
    PRIMARY KEY (sku_id, order_id, segment),
    FOREIGN KEY (sku_id, order_id) REFERENCES deductions (sku_id, order_id)
);
