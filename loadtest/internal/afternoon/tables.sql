-- The tables of the service that a team writes in an afternoon: what there is, and a row for each line of an order.
--
-- In:  nothing
-- Out: nothing
CREATE TABLE IF NOT EXISTS products (
    sku     text   PRIMARY KEY,
    initial bigint NOT NULL,
    stock   bigint NOT NULL CHECK (stock >= 0)
);

CREATE TABLE IF NOT EXISTS orders (
    order_id   text        NOT NULL,
    line       integer     NOT NULL,
    sku        text        NOT NULL,
    quantity   bigint      NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (order_id, line) -- so an order id is used once
);
