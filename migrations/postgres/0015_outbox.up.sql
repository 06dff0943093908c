-- Changes of deductions, for teams that feed a queue: see docs/OUTBOX.md. Nothing writes here until the outbox is turned on.
-- xid is the transaction that wrote the row, position distinguishes the rows of one transaction.
CREATE TABLE IF NOT EXISTS outbox (
    xid      xid8        NOT NULL DEFAULT pg_current_xact_id(),
    position bigint      NOT NULL GENERATED ALWAYS AS IDENTITY,
    sku_id   text COLLATE "C" NOT NULL,
    order_id text COLLATE "C" NOT NULL,
    buyer_id text COLLATE "C",
    quantity integer     NOT NULL,
    status   text COLLATE "C" NOT NULL,
    at       timestamptz NOT NULL,
    PRIMARY KEY (xid, position)
);
