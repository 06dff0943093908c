package locking

import (
	"time"
)

// An Observer receives what happens to the locks of a process: how long callers wait, how often they fail, how long they
// hold, what gets lost. Its methods are called while locks are taken and released, by many goroutines: they must be quick,
// must not panic, and must not call back. A MultiLock and a RedLock show as the locks they are made of. The package lockmetrics has one for
// Prometheus.
type Observer interface {
	// Acquired is called for each hold, also for one that is given back because the caller has gone or a MultiLock cannot get all
	// parts: how long it took, and whether the caller had to wait for another owner.
	Acquired(kind Kind, waited time.Duration, contended bool)

	// Failed is called for each Lock and TryLock that got no hold, except those that are refused before they ask: Locks that are
	// closed already, no name, or an option that makes no sense.
	Failed(kind Kind, waited time.Duration, reason Reason)

	// Released is called for each hold that was unlocked before it was lost.
	Released(kind Kind, held time.Duration)

	// Lost is called for each hold that ended before it was unlocked.
	Lost(kind Kind, held time.Duration)

	// Renewed is called for each round trip of the watchdog: how many locks it renewed, and whether the server
	// answered for all of them.
	Renewed(locks int, took time.Duration, answered bool)
}

// A PollingObserver is an Observer that also learns when its process cannot be woken.
type PollingObserver interface {
	Observer

	// Polling is called when no wake-ups reach this process, with the reason: it may not subscribe, its client cannot, or
	// messages do not arrive. Its waiters poll then, so locks change hands more slowly. It is called with nil when wake-ups
	// reach it again.
	Polling(why error)
}

// A Kind of lock.
type Kind string

// The kinds that an Observer receives.
const (
	KindMutex Kind = "mutex"
	KindFair  Kind = "fair"
	KindRead  Kind = "read"
	KindWrite Kind = "write"
)

// A Reason is why an acquisition failed.
type Reason string

// The reasons that an Observer receives.
const (
	ReasonBusy   Reason = "busy"   // another owner has the lock
	ReasonEnded  Reason = "ended"  // the caller's context ended
	ReasonClosed Reason = "closed" // the Locks were closed
	ReasonError  Reason = "error"  // the server did not answer, or refused
)

// nobody is the Observer if none is set.
type nobody struct{}

// Acquired implements Observer.
func (nobody) Acquired(Kind, time.Duration, bool) {}

// Failed implements Observer.
func (nobody) Failed(Kind, time.Duration, Reason) {}

// Released implements Observer.
func (nobody) Released(Kind, time.Duration) {}

// Lost implements Observer.
func (nobody) Lost(Kind, time.Duration) {}

// Renewed implements Observer.
func (nobody) Renewed(int, time.Duration, bool) {}
