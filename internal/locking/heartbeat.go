package locking

import (
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	"inventory/internal/locking/internal/policy"
	"inventory/internal/locking/internal/scripts"
	"inventory/internal/locking/internal/server"
)

// The heartbeat shows the server every second which callers of this process wait in the queues of first-come locks, all
// in one round trip, and asks for them whether it is their turn: wake-ups may be lost. It begins with the first wait.
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
	timer := time.NewTimer(policy.Poll)
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
			start, next = time.Now(), policy.Poll
		}
		timer.Reset(max(next-time.Since(start), time.Millisecond))
	}
}

// beat does it once. It tells whether anybody waits, and when to do it again.
func (hb *heartbeat) beat() (waiting bool, next time.Duration) {
	next = policy.Poll
	calls := hb.calls()
	var mu sync.Mutex
	server.EachNode(hb.locks.server, calls, scripts.Call.Key, func(mine []scripts.Call) {
		for some := range slices.Chunk(mine, batch) {
			again, answered := hb.beatSome(some)
			mu.Lock()
			next = min(next, again)
			mu.Unlock()
			if !answered {
				return // waiting for each batch of a node that stands still would let waiters at other nodes die
			}
		}
	})
	return len(calls) > 0, next
}

// calls returns the script calls that tell the server who waits for each lock, a batch of waiters in each.
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
			call = t.fifo.newCall(scripts.FifoHeartbeat, 0, 3+batch).With(hb.locks.boxed, policy.WaiterLifeMS, policy.PollMS, policy.SoonMS)
		}
		call = call.With(t.number)
		if open[key] = call; len(call.Command) == cap(call.Command) {
			calls = append(calls, call)
			delete(open, key)
		}
	}
	return slices.AppendSeq(calls, maps.Values(open))
}

// beatSome sends heartbeats to the server, and wakes those waiters that should look again. It returns when to beat
// again at the latest (soon, if the server did not answer or somebody has been woken), and whether the server answered
// at all.
func (hb *heartbeat) beatSome(calls []scripts.Call) (next time.Duration, answered bool) {
	l := hb.locks
	next = policy.Poll
	answers := l.server.RunAll(time.Now().Add(policy.Heartbeat), calls)
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, answer := range answers {
		look, err := answer.StringSlice()
		answered = answered || server.IsAnswer(err)
		if err != nil || len(look) == 0 {
			next = min(next, policy.Soon)
			continue
		}
		if left, err := strconv.Atoi(look[0]); err == nil {
			next = min(next, max(time.Duration(left+1)*time.Millisecond, policy.Sooner))
		}
		for _, number := range look[1:] {
			l.tickets.wakeLocked(number)
			next = min(next, policy.Soon)
		}
	}
	return next, answered
}
