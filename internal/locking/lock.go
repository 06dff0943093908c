package locking

import (
	"context"
	"strconv"
	"time"

	"inventory/internal/locking/internal/keys"
	"inventory/internal/locking/internal/scripts"
)

// A lock is the address of one lock, of any kind.
type lock struct {
	locks    *Locks
	kind     kind
	name     string
	bucket   keys.Bucket
	stateKey string // the key of its state, which also names it in wake-ups
	queueKey string
	order    string // where it stands in the order of all locks

	args       [3]any // clock, state and queue, as scripts take them
	tombstones string // how the keys begin that cancel attempts
}

// A kind of lock is what its scripts say. The registry, the watchdog and the cleaner know no more of it.
type kind interface {
	// name is what an Observer is told.
	name() Kind

	// take waits for locks that are in order, of one bucket and of equal kinds, each named once.
	take(acq *acquisition, run []*part) error

	// renewal puts the expiry of a grant off.
	renewal(g *grant, lease time.Duration) scripts.Call

	// settling tells the server what is in a settlement.
	settling(s *settlement) scripts.Call

	// raising asks for a token above n.
	raising(g *grant, n int64) scripts.Call
}

func (l *Locks) lockAt(k kind, where keys.Bucket, to keys.Tail, stateRole, queueRole string) lock {
	name, _ := to.Name()
	a := lock{
		locks:    l,
		kind:     k,
		name:     name,
		bucket:   where,
		stateKey: where.Key(stateRole, to),
		queueKey: where.Key(queueRole, to),
	}
	a.order = a.stateKey + "\x00" + l.address
	a.args = [3]any{where.Clock(), a.stateKey, a.queueKey}
	a.tombstones = where.Tombstones(l.process)
	return a
}

// self returns the lock that a handle embeds.
func (a *lock) self() *lock { return a }

// acquire is Lock and TryLock.
func (a *lock) acquire(ctx context.Context, try bool, opts []LockOption) (*Hold, error) {
	acq, err := newAcquisition(ctx, try, opts)
	if err != nil {
		return nil, err
	}
	if a.name == "" {
		return nil, ErrEmptyName
	}
	only := &struct { // in one piece of memory
		part part
		run  [1]*part
	}{part: part{lock: a, times: 1}}
	only.run[0] = &only.part
	if err := a.kind.take(acq, only.run[:]); err != nil {
		return nil, err
	}
	return only.part.holds[0], nil
}

// Name returns the name that the lock was made with.
func (a *lock) Name() string { return a.name }

// Count tells how often the owner that ctx carries holds the lock through these Locks: 0 when it does not.
func (a *lock) Count(ctx context.Context) int {
	who, ok := ctx.Value(ownerKey{}).(*owner)
	if !ok {
		return 0
	}
	a.locks.mu.Lock()
	defer a.locks.mu.Unlock()
	if g := a.locks.grantOfLocked(a.stateKey, who); g != nil {
		return len(g.holds)
	}
	return 0
}

// tombstone returns the key that cancels an attempt. Number 0 means no attempt: a script must be given some key all the
// same, and writes none.
func (a *lock) tombstone(number int64) any {
	if number == 0 {
		return a.args[0]
	}
	return a.tombstones + strconv.FormatInt(number, 10)
}
