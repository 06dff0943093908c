-- On each node: number the rows of the outbox by the clock. So an order has rising numbers also when its shard has moved to
-- another node. nextval distinguishes the rows that one statement writes in a microsecond.
ALTER TABLE outbox ALTER position DROP IDENTITY IF EXISTS,
    ALTER position SET DEFAULT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint * 4 + nextval('outbox_tie') % 4
