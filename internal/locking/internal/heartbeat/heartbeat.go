// Package heartbeat shows the server which callers of this process wait in the queues of first-come locks.
package heartbeat

import (
	"context"
	"strconv"
	"sync"
	"time"

	"inventory/internal/locking/internal/policy"
	"inventory/internal/locking/internal/scripts"
	"inventory/internal/locking/internal/server"
)

// A Heartbeat shows every second who waits, all in one round trip, and asks whether it is their turn, since wake-ups may be
// lost.
type Heartbeat struct {
	server *server.Server
	calls  func() []scripts.Call
	look   func(waiters []string)
	wake   chan struct{} // there are waiters
}

// New returns a heartbeat, which beats while Run does. calls returns the script calls that show the server who waits;
// look is called with the waiters that should look again.
func New(s *server.Server, calls func() []scripts.Call, look func(waiters []string)) *Heartbeat {
	return &Heartbeat{server: s, calls: calls, look: look, wake: make(chan struct{}, 1)}
}

// Wake reports that there are waiters.
func (hb *Heartbeat) Wake() {
	select {
	case hb.wake <- struct{}{}:
	default:
	}
}

// Run beats while there are waiters, until stop is closed.
func (hb *Heartbeat) Run(stop <-chan struct{}) {
	timer := time.NewTimer(policy.Poll)
	defer timer.Stop()
	for {
		select {
		case <-timer.C:
		case <-stop:
			return
		}
		start := time.Now()
		waiting, next := hb.Beat()
		if !waiting {
			select {
			case <-hb.wake:
			case <-stop:
				return
			}
			start, next = time.Now(), policy.Poll
		}
		timer.Reset(max(next-time.Since(start), time.Millisecond))
	}
}

// Beat beats once. It reports whether there are waiters, and when to beat again.
func (hb *Heartbeat) Beat() (waiting bool, next time.Duration) {
	next = policy.Poll
	calls := hb.calls()
	var mu sync.Mutex
	server.EachBatch(hb.server, calls, scripts.Call.Key, func(some []scripts.Call) bool {
		again, answered := hb.beatSome(some)
		mu.Lock()
		defer mu.Unlock()
		next = min(next, again)
		return answered
	})
	return len(calls) > 0, next
}

// beatSome sends heartbeats to the server, and lets those waiters look again that should. It returns when to beat again
// at the latest (soon, if the server did not answer or somebody should look), and whether the server answered at all.
func (hb *Heartbeat) beatSome(calls []scripts.Call) (next time.Duration, answered bool) {
	next = policy.Poll
	var look []string
	answers, answered := hb.server.RunAll(context.Background(), time.Now().Add(policy.Heartbeat), calls)
	for _, answer := range answers {
		words, err := answer.StringSlice() // when to beat again at the latest, and who should look
		if err != nil || len(words) == 0 {
			next = min(next, policy.Soon)
			continue
		}
		if left, err := strconv.Atoi(words[0]); err == nil {
			next = min(next, max(time.Duration(left+1)*time.Millisecond, policy.Sooner))
		}
		look = append(look, words[1:]...)
	}
	if len(look) > 0 {
		hb.look(look)
		next = min(next, policy.Soon)
	}
	return next, answered
}
