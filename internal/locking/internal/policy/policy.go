// Package policy says how long anybody waits before it asks the server again, and how long an answer may take. To change
// the back-off of waiting locks, change it here; the scripts get what they need of it as arguments.
package policy

import (
	"math/rand/v2"
	"time"
)

// Who waits for a lock asks again
const (
	// Poll is when the first in line asks by itself, for a wake-up may be lost; and how often a process sends the
	// heartbeats of those who wait for first-come locks.
	Poll = time.Second

	// Look is when a waiter of a first-come lock asks by itself. Its heartbeat looks more often.
	Look = 5 * time.Second

	// Soon is when heartbeats are sent again after one without an answer, or after somebody was woken; Sooner is the
	// least time between two.
	Soon   = Poll / 10
	Sooner = Soon / 10

	// Silence is when a waiter asks again after a question without an answer, and Outage for how long it does before
	// it gives up its place: long enough for a server that stops for a moment.
	Silence = Poll / 4
	Outage  = 10 * time.Second

	// Migration is when it asks again about a slot that is moving from one node to another.
	Migration = 10 * time.Millisecond

	// Subscribe is how long a waiter waits for the subscription to stand before it polls without.
	Subscribe = 250 * time.Millisecond
)

// What the scripts of locks in which others wait are told.
const (
	// WaiterLife is after what time without a heartbeat the server drops a waiter of a first-come lock.
	WaiterLife = 3 * time.Second

	// Reservation is for how long a free mutex is kept for the process that was woken: longer than a wake-up and its
	// answer take from far away.
	Reservation = 500 * time.Millisecond
)

// The same in milliseconds, as scripts take it.
const (
	PollMS        = int64(Poll / time.Millisecond)
	SoonMS        = int64(Soon / time.Millisecond)
	WaiterLifeMS  = int64(WaiterLife / time.Millisecond)
	ReservationMS = int64(Reservation / time.Millisecond)
)

// An answer may take
const (
	// Grace at least, also when the wait runs out before: an acquisition that is cut off has to be cancelled, which
	// costs more than to receive its answer.
	Grace = 50 * time.Millisecond

	// Heartbeat: if the answer was lost, there must be time for more.
	Heartbeat = WaiterLife / 2

	// Release at most. What has not been confirmed by then is repeated in the background.
	Release = 3 * time.Second

	// Node at most, of a RedLock, and a part of the lease: one in NodeShare.
	Node      = 250 * time.Millisecond
	NodeShare = 8
)

// Who gives up
const (
	// waits Cleanup for its traces to be gone from the server, and
	Cleanup = 25 * time.Millisecond

	// has its attempt cancelled again and again for Cancel, beyond the two leases in which it can do any harm: a server
	// that stands still may take it up only when it goes on.
	Cancel = time.Minute
)

// AfterBusy is when the first in line asks again for a lock that is busy for as long: when it is free, but not later
// than the wake-ups that may be lost allow. A waiter that has a heartbeat is told by that.
func AfterBusy(busy time.Duration, heartbeat bool) time.Duration {
	switch {
	case busy < Poll:
		return busy
	case heartbeat:
		return Look
	default:
		return Poll
	}
}

// AfterRenewal is when the watchdog renews again: soon after a failure, so that a short trouble costs no lock.
func AfterRenewal(lease time.Duration, answered bool) time.Duration {
	if answered {
		return lease / 3
	}
	return min(lease/30, time.Second)
}

// A Backoff is a pause that doubles each time.
type Backoff struct{ First, Last, next time.Duration }

// Reconnect is the back-off of who repeats what failed in the background, and of who connects again.
func Reconnect() Backoff { return Backoff{First: 10 * time.Millisecond, Last: time.Second} }

// CleanerAnswer is how long an answer to what is repeated may take. A connection that swallows what it is told costs
// those who wait for the cleaner little then, and a slow server is not given up.
func CleanerAnswer() Backoff { return Backoff{First: time.Second, Last: 3 * time.Second} }

// Candidates is the back-off of those who have got some nodes of a RedLock and not enough.
func Candidates() Backoff { return Backoff{First: time.Millisecond, Last: 50 * time.Millisecond} }

// Now is how long the pause is.
func (b *Backoff) Now() time.Duration { return max(b.next, b.First) }

// Double makes the next pause longer.
func (b *Backoff) Double() { b.next = min(2*b.Now(), b.Last) }

// Reset makes it short again.
func (b *Backoff) Reset() { b.next = b.First }

// Jitter is a random part of a pause, at least half of it: of several who pause, one must come first.
func Jitter(pause time.Duration) time.Duration { return pause/2 + rand.N(pause/2) }
