package locking

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	"inventory/internal/locking/internal/policy"
	"inventory/internal/locking/internal/scripts"
	"inventory/internal/locking/internal/server"
)

// The heartbeat shows the server every second which callers of this process wait in the queues of first-come locks, all in one
// round trip, and asks whether it is their turn, since wake-ups may be lost.

// beats sends heartbeats until stop. While nobody waits, none are sent.
func (l *Locks) beats() { l.repeat(policy.Poll, nil, l.beat) }

// beat beats once, and returns when to beat again.
func (l *Locks) beat() (next time.Duration) {
	next = policy.Poll
	var mu sync.Mutex
	server.EachBatch(l.server, l.heartbeats(), scripts.Call.Key, func(some []scripts.Call) bool {
		again, answered := l.beatSome(some)
		mu.Lock()
		defer mu.Unlock()
		next = min(next, again)
		return answered
	})
	return next
}

// heartbeats returns the script calls that show the server who waits for each lock, a batch of waiters in each. They are in
// the order of the tickets: the order of a map would differ in each replay of a simulation.
func (l *Locks) heartbeats() []scripts.Call {
	l.mu.Lock()
	defer l.mu.Unlock()
	open := make(map[string]int) // the call about a lock that still has room
	var calls []scripts.Call
	for _, number := range slices.Sorted(maps.Keys(l.tickets.all)) {
		t := l.tickets.all[number]
		if !t.queued {
			continue
		}
		key := t.fifo.wakeKey
		at, ok := open[key]
		if !ok || len(calls[at].Command) == cap(calls[at].Command) {
			at = len(calls)
			open[key] = at
			calls = append(calls, t.fifo.newCall(scripts.FifoHeartbeat, 0, 4+server.Batch).With(l.process, policy.WaiterLifeMS, policy.PollMS, policy.SoonMS))
		}
		calls[at] = calls[at].With(t.number)
	}
	return calls
}

// beatSome sends heartbeats to the server, and lets those waiters look again that should. It returns when to beat again
// at the latest (soon, if the server did not answer or somebody should look), and whether the server answered at all.
func (l *Locks) beatSome(calls []scripts.Call) (next time.Duration, answered bool) {
	next = policy.Poll
	answers, answered := l.server.RunAll(context.Background(), time.Now().Add(policy.Heartbeat), calls)
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, answer := range answers {
		words, err := answer.StringSlice() // when to beat again at the latest, and who should look
		if err != nil || len(words) == 0 {
			next = min(next, policy.Soon)
			continue
		}
		if left, err := strconv.Atoi(words[0]); err == nil {
			next = min(next, max(time.Duration(left+1)*time.Millisecond, policy.Sooner))
		}
		for _, number := range words[1:] {
			l.tickets.wakeLocked(number)
			next = min(next, policy.Soon)
		}
	}
	return next, answered
}
