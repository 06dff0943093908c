package locking

import (
	"context"
	"slices"
	"strconv"
	"strings"
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
	server.EachBatch(l.server, l.heartbeats(), heartbeat.node, func(some []heartbeat) bool {
		again, answered := l.beatSome(some)
		mu.Lock()
		defer mu.Unlock()
		next = min(next, again)
		return answered
	})
	return next
}

// A heartbeat is about waiters for one lock.
type heartbeat struct {
	lock    string
	waiters []*waiter
}

// node is a key that determines the node.
func (b heartbeat) node() string { return b.lock }

// heartbeats returns who waits in the queues, a batch of waiters in each. They are in order: that of a map would differ in each
// replay of a simulation.
func (l *Locks) heartbeats() (all []heartbeat) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for key, st := range l.states {
		var queued []*waiter
		for _, w := range st.waiters {
			if w.placed {
				queued = append(queued, w)
			}
		}
		for some := range slices.Chunk(queued, server.Batch) {
			all = append(all, heartbeat{key, some})
		}
	}
	slices.SortStableFunc(all, func(a, b heartbeat) int { return strings.Compare(a.lock, b.lock) })
	return all
}

// beatSome sends heartbeats to the server, and lets those waiters look again that should. It returns when to beat again
// at the latest (soon, if the server did not answer or somebody should look), and whether the server answered at all.
func (l *Locks) beatSome(beats []heartbeat) (next time.Duration, answered bool) {
	next = policy.Poll
	calls := make([]scripts.Call, len(beats))
	for i, b := range beats {
		calls[i] = b.waiters[0].fifo.newCall(scripts.FifoHeartbeat, 0, 4+len(b.waiters)).
			With(l.process, policy.WaiterLifeMS, policy.PollMS, policy.SoonMS)
		for _, w := range b.waiters {
			calls[i] = calls[i].With(w.ticket)
		}
	}
	answers, answered := l.server.RunAll(context.Background(), time.Now().Add(policy.Heartbeat), calls)
	l.mu.Lock()
	defer l.mu.Unlock()
	for i, answer := range answers {
		words, err := answer.StringSlice() // when to beat again at the latest, and who should look
		if err != nil || len(words) == 0 {
			next = min(next, policy.Soon)
			continue
		}
		if left, err := strconv.Atoi(words[0]); err == nil {
			next = min(next, max(time.Duration(left+1)*time.Millisecond, policy.Sooner))
		}
		for _, w := range beats[i].waiters {
			if slices.Contains(words[1:], w.ticket) {
				signal(w.woken)
				next = min(next, policy.Soon)
			}
		}
	}
	return next, answered
}
