-- What is sold. initial never changes: later changes are rows of movements.
CREATE TABLE IF NOT EXISTS skus (
    sku_id     text COLLATE "C" PRIMARY KEY,
    name       text        NOT NULL,
    initial    bigint      NOT NULL CHECK (initial BETWEEN 0 AND 1000000000),
    segments   integer     NOT NULL CHECK (segments BETWEEN 1 AND 1024),
    created_at timestamptz NOT NULL
);
