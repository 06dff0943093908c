package locking

import (
	"fmt"
	"time"

	"inventory/internal/locking/internal/keys"
)

const (
	// defaultWatchdogLease is Redisson's: long enough to live through a pause of the server, short enough
	// that a crash does not stop the others for long.
	defaultWatchdogLease = 30 * time.Second

	// minLease is longer than a round trip to the server and the safety margin of a lease.
	minLease = 10 * time.Millisecond

	// maxLease stays below the life of the bucket's clock, and far away from overflows.
	maxLease = 7 * 24 * time.Hour
)

// An Option configures Locks.
type Option func(*Locks) error

// WatchdogLease sets the lease of holds that are renewed: what a crashed process's locks take to become
// free. They are renewed every third of it. Default 30 s; from 10 ms to 7 days.
func WatchdogLease(d time.Duration) Option {
	return func(l *Locks) error {
		l.lease = d.Truncate(time.Millisecond) // as the server counts
		return checkLease(d)
	}
}

// WaitReplicas makes an acquisition count only when that many replicas have confirmed it within a timeout, so
// that the lock lives on when one of them takes the server's place. If fewer do, it is cancelled and the error
// is ErrNotReplicated. Every acquisition by a script waits for that, which costs a round trip from the server to its
// replicas. Re-entries, renewals, releases and handoffs inside a process do not wait: the replicas already know whose
// lock it is, though perhaps with a shorter lease.
//
// A loss becomes rarer, not impossible: nothing forces a failover to choose a replica that has confirmed. It needs a
// client of one server, of Sentinel or of a Cluster, because WAIT counts for its own connection only, and a timeout
// shorter than the client's ReadTimeout. On miniredis nothing is ever confirmed.
func WaitReplicas(count int, timeout time.Duration) Option {
	return func(l *Locks) error {
		if err := l.server.WaitReplicas(count, timeout); err != nil {
			return fmt.Errorf("%w: %w", ErrInvalid, err)
		}
		return nil
	}
}

// A MutexOption configures a lock.
type MutexOption func(group *string)

// addressOf returns where the keys of a lock begin, and how they end.
func addressOf(name string, opts []MutexOption) (keys.Bucket, keys.Tail) {
	group := ""
	for _, opt := range opts {
		opt(&group)
	}
	return keys.BucketOf(group, name), keys.TailOf(group, name)
}

// Group places the lock in the slot of a group, with all other locks of that group: a MultiLock over them takes them in one
// round trip. The group is part of the lock's address: all processes must use the same one. The same name in another group,
// or in none, is another lock.
func Group(name string) MutexOption { return func(group *string) { *group = name } }

// Wait bounds how long Lock waits. Unlike the context, it does not bound the work under the lock. When it runs out,
// Lock returns ErrBusy, or what it waited for instead: ErrNoAnswer, or the refusal of a slot that moves. Wait(0) tries
// once. TryLock never waits for the lock; there it bounds the server's answer.
func Wait(d time.Duration) LockOption {
	return func(acq *acquisition) error {
		if d < 0 {
			return fmt.Errorf("%w: a wait of %s", ErrInvalid, d)
		}
		acq.until = acq.start.Add(d)
		return nil
	}
}

// Lease gives the hold a fixed lease, from 10 ms to 7 days: nothing renews it, and when it has run out the hold is
// lost and the next owner may enter.
func Lease(d time.Duration) LockOption {
	return func(acq *acquisition) error {
		acq.lease, acq.fixed = d.Truncate(time.Millisecond), true // as the server counts
		return checkLease(d)
	}
}

// kept is for the parts of a MultiLock whose leases are fixed: they are restarted while it takes the others.
func kept(acq *acquisition) error {
	acq.kept = true
	return nil
}

func checkLease(d time.Duration) error {
	if d < minLease || d > maxLease {
		return fmt.Errorf("%w: a lease of %s is not between %s and %s", ErrInvalid, d, minLease, maxLease)
	}
	return nil
}

// Observe sets an observer; nil is none.
func Observe(o Observer) Option {
	return func(l *Locks) error {
		if o != nil {
			l.observer = o
		}
		return nil
	}
}
