package locking

import (
	"slices"
	"sync"
	"time"

	"inventory/internal/locking/internal/policy"
	"inventory/internal/locking/internal/scripts"
	"inventory/internal/locking/internal/server"
)

// batch is how many script calls go in one pipelined round trip: more would block the server for too long.
const batch = 250

// The cleaner does what nobody waits for: it cancels attempts whose outcome is uncertain, repeats releases that were
// not confirmed, leaves queues and gives reservations back. It sends many in one round trip, so that a server that
// comes back does not get them all at once.
type cleaner struct {
	locks *Locks
	wake  chan struct{}

	bound policy.Backoff // of the next round trip

	mu   sync.Mutex
	work []*settlement
}

func newCleaner(l *Locks) *cleaner {
	return &cleaner{locks: l, wake: make(chan struct{}, 1), bound: policy.CleanerAnswer()}
}

// add hands over a settlement. The channel is closed when it has been tried.
func (c *cleaner) add(s *settlement) <-chan struct{} {
	s.done = make(chan struct{})
	c.mu.Lock()
	c.work = append(c.work, s)
	c.mu.Unlock()
	select {
	case c.wake <- struct{}{}:
	default:
	}
	return s.done
}

// briefly adds a settlement, and waits a moment for it.
func (c *cleaner) briefly(s *settlement) {
	select {
	case <-c.add(s):
	case <-time.After(policy.Cleanup):
	}
}

// run works until stop, and then once more.
func (c *cleaner) run() {
	pause := policy.Reconnect()
	var again <-chan time.Time
	for {
		stopped := false
		select {
		case <-c.wake:
		case <-again:
		case <-c.locks.stop:
			stopped = true
			c.bound.Reset()
		}
		left := c.sweep()
		if stopped {
			return
		}
		again = nil
		if left {
			again = time.After(pause.Now())
			pause.Double()
			c.bound.Double()
		} else {
			pause.Reset()
			c.bound.Reset()
		}
	}
}

// sweep does all the work there is, and tells whether some of it must be repeated.
func (c *cleaner) sweep() (left bool) {
	c.mu.Lock()
	work := c.work
	c.work = nil
	c.mu.Unlock()
	var mu sync.Mutex
	var failed []*settlement
	server.EachNode(c.locks.server, work, func(s *settlement) string { return s.locks[0].stateKey }, func(work []*settlement) {
		left := c.doAll(work)
		mu.Lock()
		defer mu.Unlock()
		failed = append(failed, left...)
	})
	c.mu.Lock()
	c.work = append(failed, c.work...)
	c.mu.Unlock()
	return len(failed) > 0
}

// doAll does the work for one node, and returns what must be repeated. Once the node does not answer, no further batch
// spends a time-out on it.
func (c *cleaner) doAll(work []*settlement) (failed []*settlement) {
	answered := true
	for chunk := range slices.Chunk(work, batch) {
		if !answered {
			for _, s := range chunk {
				s.end()
			}
			failed = append(failed, chunk...)
			continue
		}
		var left []*settlement
		left, answered = c.do(chunk)
		failed = append(failed, left...)
	}
	return failed
}

// end tells those who wait for it that a settlement has been tried.
func (s *settlement) end() {
	if s.tried != nil {
		s.tried()
		s.tried = nil
	}
	select {
	case <-s.done:
	default:
		close(s.done)
	}
}

// do does a batch in one round trip. It returns what must be repeated, and whether the server has answered.
func (c *cleaner) do(work []*settlement) (failed []*settlement, answered bool) {
	l := c.locks
	calls := make([]scripts.Call, len(work))
	for i, s := range work {
		calls[i] = s.locks[0].kind.settling(s)
	}
	answers := l.server.RunAll(time.Now().Add(c.bound.Now()), calls)
	now := time.Now()
	for i, s := range work {
		s.end()
		err := answers[i].Err()
		answered = answered || server.IsAnswer(err)
		if s.answer != nil && server.IsAnswer(err) && !server.IsMoving(err) {
			s.answer <- answers[i]
			s.answer = nil
		}
		if err != nil && now.Before(s.until) {
			failed = append(failed, s)
		}
	}
	return failed, answered
}
