-- What each buyer holds of a SKU that has a buyer limit: the units of live deductions. The limit is a constraint of the
-- row, whichever process writes it.
CREATE TABLE IF NOT EXISTS buyers (
    sku_id   text COLLATE "C" NOT NULL,
    buyer_id text COLLATE "C" NOT NULL,
    units    bigint NOT NULL CHECK (units >= 0),
    most     bigint NOT NULL,
    PRIMARY KEY (sku_id, buyer_id),
    CHECK (units <= most)
) WITH (fillfactor = 50);
