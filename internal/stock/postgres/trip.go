package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"
)

// trip are statements of one transaction, about one shard or several of a node, that go to the server in one message. Those of a
// shard come behind its lock. They wait for that no longer than shared writes wait for anything, so that a shard that is moved
// holds up no other.
type trip struct {
	pgx.Batch
	locked map[*dialect]bool
}

// lock takes the lock of a shard, unless there is none or the trip has it already.
func (t *trip) lock(d *dialect) {
	if !d.locks() || t.locked[d] {
		return
	}
	if t.locked == nil {
		t.locked = make(map[*dialect]bool)
		t.Queue(limitWaits, sharedWait)
	}
	t.Queue(d.shardLock)
	t.locked[d] = true
}

// queue adds a statement in a dialect.
func (t *trip) queue(d *dialect, sql string, args ...any) *pgx.QueuedQuery {
	t.lock(d)
	return t.Queue(d.of(sql), args...)
}

// send sends the statements as one transaction. If one of them fails, nothing is written.
func (t *trip) send(ctx context.Context, pool database) error {
	return pool.SendBatch(ctx, &t.Batch).Close()
}
