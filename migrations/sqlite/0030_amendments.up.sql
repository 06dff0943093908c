-- What was done to deductions that stay: a part was given back, or a reservation was extended. The primary key makes each
-- happen once. A row is never changed.
CREATE TABLE IF NOT EXISTS amendments (
    sku_id          TEXT    NOT NULL,
    order_id        TEXT    NOT NULL,
    ref             TEXT    NOT NULL,
    returned        INTEGER CHECK (returned BETWEEN 1 AND 1000000),
    extended_micros INTEGER CHECK (extended_micros > 0),
    created_at      INTEGER NOT NULL,
    PRIMARY KEY (sku_id, order_id, ref),
    FOREIGN KEY (sku_id, order_id) REFERENCES deductions (sku_id, order_id),
    CHECK ((returned IS NULL) <> (extended_micros IS NULL))
) STRICT, WITHOUT ROWID;
