-- On each node: number the rows of the outbox by the clock. So an order has rising numbers also when its shard has moved to
-- another node. What is told apart beyond the microsecond are the rows of one statement.
ALTER TABLE outbox ALTER position DROP IDENTITY IF EXISTS,
    ALTER position SET DEFAULT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint * 4 + nextval('outbox_tie') % 4
