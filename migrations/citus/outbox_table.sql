-- On each node: the outbox, as in the base schema.
CREATE TABLE IF NOT EXISTS outbox (
    xid         xid8        NOT NULL DEFAULT pg_current_xact_id(),
    position    bigint      NOT NULL GENERATED ALWAYS AS IDENTITY,
    sku_id      text COLLATE "C" NOT NULL,
    order_id    text COLLATE "C" NOT NULL,
    buyer_id    text COLLATE "C",
    quantity    integer     NOT NULL,
    status      text COLLATE "C" NOT NULL,
    at          timestamptz NOT NULL,
    written_off integer,
    PRIMARY KEY (xid, position)
)
