package postgres

import (
	"context"
	"slices"

	"github.com/jackc/pgx/v5/pgxpool"

	"inventory/internal/stock/tables"
)

// lockShards takes the locks of several shards, and bounds how long the transaction waits for each of them, and for each row.
const lockShards = `
WITH bounded AS MATERIALIZED (SELECT set_config('lock_timeout', $2, true))
SELECT inventory_here(shard) FROM bounded, unnest($1::bigint[]) AS shard`

// shardStatements are statements of one transaction, about one shard or several of a node, that go to the server in one message.
// They come after the locks of their shards. They wait for these no longer than shared writes wait for anything, so that a
// shard that is moved holds up no other.
type shardStatements struct {
	tables.Statements
	locks  *tables.Statement // the first statement; nil: no shard is locked
	locked []int64           // shards
}

// lock takes the lock of a shard, unless there is none or the message has it already.
func (s *shardStatements) lock(d *dialect) {
	if !d.locks() || slices.Contains(s.locked, d.shard) {
		return
	}
	if s.locks == nil {
		s.locks = s.Exec(lockShards, nil, sharedWait)
	}
	s.locked = append(s.locked, d.shard)
	s.locks.Args[0] = s.locked
}

// in adds a statement in a dialect.
func (s *shardStatements) in(d *dialect, sql string, args ...any) *tables.Statement {
	s.lock(d)
	return s.Exec(d.of(sql), args...)
}

// send sends the statements as one transaction. If one of them fails, nothing is written.
func (s *shardStatements) send(ctx context.Context, pool database) error {
	return pool.write(ctx, func(conn *pgxpool.Conn) error { return conn.SendBatch(ctx, message(&s.Statements, nil)).Close() })
}
