package locking

import (
	"inventory/internal/locking/internal/keys"
)

// A lock is the address of one lock, of any kind.
type lock struct {
	locks    *Locks
	kind     kind
	name     string
	bucket   keys.Bucket
	stateKey string // the key of its state, which also names it in wake-ups
	queueKey string
	order    string // its place in the order of all locks
}

func (l *Locks) lockAt(k kind, name string, where keys.Bucket, to keys.Tail, stateRole, queueRole string) lock {
	a := lock{
		locks:    l,
		kind:     k,
		name:     name,
		bucket:   where,
		stateKey: where.Key(stateRole, to),
		queueKey: where.Key(queueRole, to),
	}
	a.order = a.stateKey + "\x00" + l.address
	return a
}

// self returns the lock that a handle embeds.
func (a *lock) self() *lock { return a }

// position returns where the lock stands in the order of all locks.
func (a *lock) position() position { return position{a.order, a.locks.process} }

// Name returns the name that the lock was made with.
func (a *lock) Name() string { return a.name }

// tombstone returns the key that cancels an attempt. Number 0 means no attempt: the script needs some key anyway, and does
// not write it.
func (a *lock) tombstone(number int64) string {
	if number == 0 {
		return a.bucket.Clock()
	}
	return a.bucket.Tombstone(a.locks.process, number)
}
