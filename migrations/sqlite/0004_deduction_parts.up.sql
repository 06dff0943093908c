-- What each segment gave to a deduction that took from several.
CREATE TABLE IF NOT EXISTS deduction_parts (
    sku_id   TEXT    NOT NULL,
    order_id TEXT    NOT NULL,
    segment  INTEGER NOT NULL,
    quantity INTEGER NOT NULL CHECK (quantity > 0),
    PRIMARY KEY (sku_id, order_id, segment),
    FOREIGN KEY (sku_id, order_id) REFERENCES deductions (sku_id, order_id)
) STRICT, WITHOUT ROWID;
