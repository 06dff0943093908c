// Package policy is the wait policy: how long callers wait before they ask the server again, and how long an answer may take.
// To change the back-off of waiting locks, change it here. The scripts get what they need of it as arguments.
package policy

import (
	"math/rand/v2"
	"time"
)

// When a waiter asks again.
const (
	// Poll is when the first in line asks without a wake-up, which may be lost; and how often a process sends the heartbeats
	// of its waiters for first-come locks.
	Poll = time.Second

	// Look is when a waiter of a first-come lock asks without a wake-up. Its heartbeat looks more often.
	Look = 5 * time.Second

	// Soon is when heartbeats are sent again after one without an answer, or after a waiter was woken; Sooner is the
	// least time between two, and between the answer that a lock is busy and the next question of a caller that is not woken.
	Soon   = Poll / 10
	Sooner = Soon / 10

	// Silence is when a waiter asks again after a question without an answer. Outage is for how long it does so before
	// it gives up its position: long enough for a server that stops for a moment.
	Silence = Poll / 4
	Outage  = 10 * time.Second

	// Migration is when a caller asks again about a slot that is moving from one node to another; see WhileMoving.
	Migration = 10 * time.Millisecond

	// Missed is when a candidate of a RedLock asks all nodes although it has heard nothing of the one in whose line it stands.
	Missed = 2 * Poll

	// Deaf is when the first in line asks for a mutex if this process cannot be woken: while the lock is reserved for it.
	Deaf = Reservation / 5
)

// The arguments of scripts.
const (
	// WaiterLife is after how long without a heartbeat the server drops a waiter of a first-come lock.
	WaiterLife = 3 * time.Second

	// Reservation is for how long a free mutex is kept for the process that was woken: longer than a wake-up and the
	// process's answer take from far away.
	Reservation = 500 * time.Millisecond
)

// The same in milliseconds, as scripts take it.
const (
	PollMS        = int64(Poll / time.Millisecond)
	SoonMS        = int64(Soon / time.Millisecond)
	WaiterLifeMS  = int64(WaiterLife / time.Millisecond)
	ReservationMS = int64(Reservation / time.Millisecond)
)

// How long an answer may take.
const (
	// Grace is the least time that an acquisition gets for its answer, also if its wait runs out before: to cancel it would
	// cost more than to receive the answer.
	Grace = 50 * time.Millisecond

	// Prompt is how long an answer takes at most that lets the next caller wait for a moment, Grace, without looking at its context.
	Prompt = Grace / 5

	// Heartbeat is for a heartbeat: if its answer is lost, there must be time for more.
	Heartbeat = WaiterLife / 2

	// Release is for a release. Without a confirmation by then it is repeated in the background. FirstRelease is for its first try;
	// the second goes over a new connection.
	Release      = 3 * time.Second
	FirstRelease = Release / 3

	// Node is for one node of a RedLock, and so is a part of the lease, one in NodeShare: the shorter of the two.
	Node      = 250 * time.Millisecond
	NodeShare = 8

	// Straggle is how long a node of a RedLock is waited for, at least, when the result no longer depends on it: with each
	// further node, one more may forget the lock. While a node is silent, every acquisition costs that much.
	Straggle = 10 * time.Millisecond

	// Doubt is for how long after a command without an answer the work in the background has connections of its own.
	Doubt = time.Minute

	// Quiet is how long a subscription receives nothing before it sends a ping, and then how long it waits for the answer.
	Quiet = 3 * time.Second
)

// How long a caller that gives up cleans up.
const (
	// Cleanup is how long it waits for its traces to be gone from the server.
	Cleanup = 25 * time.Millisecond

	// Cancel is for how long its attempt is cancelled again and again, beyond the two leases in which the attempt can do
	// harm: a server that stands still may receive it only when it goes on.
	Cancel = time.Minute
)

// AfterBusy is when the first in line asks again for a lock that will be busy for so long: when it is free, not at once, and soon
// enough to make up for a lost wake-up. A waiter with a heartbeat needs that less often: the heartbeat asks for it.
func AfterBusy(busy time.Duration, heartbeat bool) time.Duration {
	switch {
	case busy < Poll:
		return max(busy, Sooner)
	case heartbeat:
		return Look
	default:
		return Poll
	}
}

// WhileMoving is when a caller asks again about a slot that has been moving for so long: a slot moves on in moments, but a reshard may
// be stuck.
func WhileMoving(since time.Duration) time.Duration {
	if since < time.Second {
		return Migration
	}
	return min(since/4, time.Second)
}

// AfterRenewal is when the watchdog renews again: soon after a failure, so that a short outage costs no lock.
func AfterRenewal(lease time.Duration, answered bool) time.Duration {
	if answered {
		return lease / 3
	}
	return min(lease/30, time.Second)
}

// Pauses that double from the first to the last.
const (
	// Reconnect is before the cleaner repeats what failed, and before the subscription connects again.
	Reconnect = 10 * time.Millisecond
	// LastReconnect is the last of these.
	LastReconnect = time.Second

	// CleanerAnswer is how long an answer to the cleaner may take. So a connection on which nothing arrives costs those who
	// wait for the cleaner little, and a slow server gets more time.
	CleanerAnswer = time.Second
	// LastCleanerAnswer is the last of these.
	LastCleanerAnswer = 3 * time.Second

	// Candidate is between the attempts of candidates that have got some nodes of a RedLock and not enough.
	Candidate = time.Millisecond
	// LastCandidate bounds these. Then votes are not split, but a node is gone: a candidate asks once in a Poll.
	LastCandidate = 50 * time.Millisecond
)

// OfNode is how long one node of a RedLock has to answer.
func OfNode(lease time.Duration) time.Duration { return max(min(lease/NodeShare, Node), Grace) }

// Doubled is the pause after so many others, or the bound.
func Doubled(first, last time.Duration, times int) time.Duration {
	return min(first<<min(times, 10), last)
}

// Jitter is a random part of a pause, at least half of it, so that of several callers one comes first.
func Jitter(pause time.Duration) time.Duration { return pause/2 + rand.N(pause/2) }
