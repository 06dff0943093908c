package locking

import (
	"slices"
	"sync"
	"time"

	"inventory/internal/locking/internal/scripts"
	"inventory/internal/locking/internal/server"
)

const (
	// batch is how many scripts go in one pipelined round trip: more would block the server for too long.
	batch = 250

	// janitorBound and janitorBoundMax are how long one round trip may take: doubled after each failure. A connection
	// that swallows what it is told costs those who wait for the cleaner little then, and a slow server is heard.
	cleanerBound    = time.Second
	cleanerBoundMax = 3 * time.Second

	// janitorPause and janitorPauseMax are how long it waits after a failure: doubled each time.
	cleanerPause    = 10 * time.Millisecond
	cleanerPauseMax = time.Second
)

// The cleaner does what nobody waits for: it cancels attempts whose outcome is uncertain, repeats
// releases that were not confirmed, leaves queues and gives reservations back. Many at a time in one round trip,
// so that a server that comes back is not met by a crowd.
type cleaner struct {
	locks *Locks
	wake  chan struct{}

	bound time.Duration // of the next round trip

	mu   sync.Mutex
	work []*settlement
}

func newCleaner(l *Locks) *cleaner {
	return &cleaner{locks: l, wake: make(chan struct{}, 1), bound: cleanerBound}
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
	case <-time.After(cleanupBound):
	}
}

// run works until stop, and then once more.
func (c *cleaner) run() {
	pause := cleanerPause
	var again <-chan time.Time
	for {
		stopped := false
		select {
		case <-c.wake:
		case <-again:
		case <-c.locks.stop:
			stopped, c.bound = true, cleanerBound
		}
		left := c.sweep()
		if stopped {
			return
		}
		again = nil
		if left {
			again = time.After(pause)
			pause, c.bound = min(2*pause, cleanerPauseMax), min(2*c.bound, cleanerBoundMax)
		} else {
			pause, c.bound = cleanerPause, cleanerBound
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

// doAll does the work for one node, and returns what must be repeated. Where the node does not answer, what is left
// does not spend a time-out each.
func (c *cleaner) doAll(work []*settlement) (failed []*settlement) {
	heard := true
	for chunk := range slices.Chunk(work, batch) {
		if !heard {
			for _, s := range chunk {
				s.end()
			}
			failed = append(failed, chunk...)
			continue
		}
		var left []*settlement
		left, heard = c.do(chunk)
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
func (c *cleaner) do(work []*settlement) (failed []*settlement, heard bool) {
	l := c.locks
	calls := make([]scripts.Call, len(work))
	for i, s := range work {
		calls[i] = s.locks[0].kind.settling(s)
	}
	answers := l.server.RunAll(time.Now().Add(c.bound), calls)
	now := time.Now()
	for i, s := range work {
		s.end()
		err := answers[i].Err()
		heard = heard || server.IsAnswer(err)
		if s.answer != nil && server.IsAnswer(err) && !server.IsMoving(err) {
			s.answer <- answers[i]
			s.answer = nil
		}
		if err != nil && now.Before(s.until) {
			failed = append(failed, s)
		}
	}
	return failed, heard
}
