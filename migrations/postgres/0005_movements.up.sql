-- The ledger: every change of stock that is not a deduction. ref makes it happen once.
CREATE TABLE IF NOT EXISTS movements (
    sku_id     text COLLATE "C" NOT NULL REFERENCES skus (sku_id),
    ref        text COLLATE "C" NOT NULL,
    kind       text COLLATE "C" NOT NULL CHECK (kind IN ('restock', 'adjust')),
    quantity   bigint      NOT NULL CHECK (quantity <> 0),
    reason     text        NOT NULL,
    created_at timestamptz NOT NULL,
    PRIMARY KEY (sku_id, ref)
);
