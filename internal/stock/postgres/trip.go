package postgres

import (
	"context"
	"slices"

	"inventory/internal/stock/tables"
)

// lockShards takes the locks of several shards, and bounds how long the transaction waits for each of them, and for each row.
const lockShards = `
WITH bounded AS MATERIALIZED (SELECT set_config('lock_timeout', $2, true))
SELECT inventory_here(shard) FROM bounded, unnest($1::bigint[]) AS shard`

// trip are statements of one transaction, about one shard or several of a node, that go to the server in one message. They come
// behind the locks of their shards. They wait for those no longer than shared writes wait for anything, so that a shard that is
// moved holds up no other.
type trip struct {
	tables.Trip
	locks  *tables.Step // first of all; nil: no shard is locked
	locked []int64      // shards
}

// lock takes the lock of a shard, unless there is none or the trip has it already.
func (t *trip) lock(d *dialect) {
	if !d.locks() || slices.Contains(t.locked, d.shard) {
		return
	}
	if t.locks == nil {
		t.locks = t.Exec(lockShards, nil, sharedWait)
	}
	t.locked = append(t.locked, d.shard)
	t.locks.Args[0] = t.locked
}

// in adds a statement in a dialect.
func (t *trip) in(d *dialect, sql string, args ...any) *tables.Step {
	t.lock(d)
	return t.Exec(d.of(sql), args...)
}

// send sends the statements as one transaction. If one of them fails, nothing is written.
func (t *trip) send(ctx context.Context, pool database) error {
	return pool.SendBatch(ctx, message(&t.Trip, nil)).Close()
}
