package locking

import (
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	"inventory/internal/locking/internal/scripts"
	"inventory/internal/locking/internal/server"
)

const (
	// beatLife is after what time without a heartbeat the server drops a waiter; fifo.lua knows it too.
	waiterLife = 3 * time.Second

	// beatBound is how long an answer to heartbeats may take: if it was lost, there must be time for more.
	heartbeatBound = waiterLife / 2
)

// The heartbeat shows the server every second which callers of this process wait in the queues of first-come
// locks, all in one round trip, and looks for them whether it is their turn: wake-ups may be lost. It begins to
// beat with the first wait.
type heartbeat struct {
	locks *Locks
	once  sync.Once
	wake  chan struct{} // somebody waits
}

func newHeartbeat(l *Locks) *heartbeat { return &heartbeat{locks: l, wake: make(chan struct{}, 1)} }

// start sees to it that the heartbeat beats.
func (hb *heartbeat) start() {
	hb.once.Do(func() { hb.locks.loops.Go(hb.run) })
	select {
	case hb.wake <- struct{}{}:
	default:
	}
}

// run beats while somebody waits, until stop.
func (hb *heartbeat) run() {
	timer := time.NewTimer(pollInterval)
	defer timer.Stop()
	for {
		select {
		case <-timer.C:
		case <-hb.locks.stop:
			return
		}
		start := time.Now()
		waiting, next := hb.beat()
		if !waiting {
			select {
			case <-hb.wake:
			case <-hb.locks.stop:
				return
			}
			start, next = time.Now(), pollInterval
		}
		timer.Reset(max(next-time.Since(start), time.Millisecond))
	}
}

// beat does it once. It tells whether anybody waits, and when to do it again.
func (hb *heartbeat) beat() (waiting bool, next time.Duration) {
	next = pollInterval
	calls := hb.calls()
	var mu sync.Mutex
	server.EachNode(hb.locks.server, calls, scripts.Call.Key, func(mine []scripts.Call) {
		for some := range slices.Chunk(mine, batch) {
			again, heard := hb.beatSome(some)
			mu.Lock()
			next = min(next, again)
			mu.Unlock()
			if !heard {
				return // to wait for each batch of a node that stands still would let those at the others die
			}
		}
	})
	return len(calls) > 0, next
}

// script calls returns what the server must be told of: of each lock who waits for it, some at a time.
func (hb *heartbeat) calls() []scripts.Call {
	hb.locks.mu.Lock()
	defer hb.locks.mu.Unlock()
	open := make(map[string]scripts.Call)
	var calls []scripts.Call
	for _, t := range hb.locks.tickets.all {
		if !t.queued {
			continue
		}
		key := t.fifo.wakeKey
		call, ok := open[key]
		if !ok {
			call = t.fifo.newCall(scripts.FifoHeartbeat, 0, batch).With(hb.locks.boxed)
		}
		call = call.With(t.number)
		if open[key] = call; len(call.Command) == cap(call.Command) {
			calls = append(calls, call)
			delete(open, key)
		}
	}
	return slices.AppendSeq(calls, maps.Values(open))
}

// beatSome brings heartbeats to the server, and lets those look again for whom it makes sense. It returns when
// to beat again at the latest: soon, when the server did not answer or somebody has been woken; and whether it answered
// at all.
func (hb *heartbeat) beatSome(calls []scripts.Call) (next time.Duration, heard bool) {
	l := hb.locks
	next, soon := pollInterval, pollInterval/10
	answers := l.server.RunAll(time.Now().Add(heartbeatBound), calls)
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, answer := range answers {
		look, err := answer.StringSlice()
		heard = heard || server.IsAnswer(err)
		if err != nil || len(look) == 0 {
			next = min(next, soon)
			continue
		}
		if left, err := strconv.Atoi(look[0]); err == nil {
			next = min(next, max(time.Duration(left+1)*time.Millisecond, soon/10))
		}
		for _, number := range look[1:] {
			l.tickets.wakeLocked(number)
			next = min(next, soon)
		}
	}
	return next, heard
}
