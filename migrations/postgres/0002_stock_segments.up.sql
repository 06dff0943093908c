-- The stock of a SKU, in parts that are sold side by side. available is the last guard against overselling.
-- fence and fence_owner are the newest lock that has written; an older one writes nothing.
-- Low fillfactor and no index on available: every update stays on its page (HOT).
CREATE TABLE IF NOT EXISTS stock_segments (
    sku_id      text COLLATE "C" NOT NULL REFERENCES skus (sku_id),
    segment     integer NOT NULL CHECK (segment >= 0),
    available   bigint  NOT NULL CHECK (available >= 0),
    fence       bigint  NOT NULL DEFAULT 0,
    fence_owner text COLLATE "C" NOT NULL DEFAULT '',
    version     bigint  NOT NULL DEFAULT 0,
    PRIMARY KEY (sku_id, segment)
) WITH (fillfactor = 50);
