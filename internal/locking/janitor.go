package locking

import (
	"slices"
	"sync"
	"time"
)

const (
	// batch is how many scripts go in one pipelined trip: more would block the server for too long.
	batch = 250

	// janitorBound and janitorBoundMax are how long one trip may take: doubled after each failure. A connection
	// that swallows what it is told costs those who wait for the janitor little then, and a slow server is heard.
	janitorBound    = time.Second
	janitorBoundMax = 3 * time.Second

	// janitorPause and janitorPauseMax are how long it waits after a failure: doubled each time.
	janitorPause    = 10 * time.Millisecond
	janitorPauseMax = time.Second
)

// The janitor does what nobody waits for: it cancels attempts whose outcome is uncertain, repeats
// releases that were not confirmed, leaves queues and gives promises back. Many at a time in one trip,
// so that a server that comes back is not met by a crowd.
type janitor struct {
	locks *Locks
	news  chan struct{}

	bound time.Duration // of the next trip

	mu   sync.Mutex
	work []*settlement
}

func newJanitor(l *Locks) *janitor {
	return &janitor{locks: l, news: make(chan struct{}, 1), bound: janitorBound}
}

// add hands over a settlement. The channel is closed when it has been tried.
func (j *janitor) add(s *settlement) <-chan struct{} {
	s.done = make(chan struct{})
	j.mu.Lock()
	j.work = append(j.work, s)
	j.mu.Unlock()
	select {
	case j.news <- struct{}{}:
	default:
	}
	return s.done
}

// briefly adds a settlement, and waits a moment for it.
func (j *janitor) briefly(s *settlement) {
	select {
	case <-j.add(s):
	case <-time.After(cleanupBound):
	}
}

// run works until stop, and then once more.
func (j *janitor) run() {
	pause := janitorPause
	var again <-chan time.Time
	for {
		stopped := false
		select {
		case <-j.news:
		case <-again:
		case <-j.locks.stop:
			stopped, j.bound = true, janitorBound
		}
		left := j.sweep()
		if stopped {
			return
		}
		again = nil
		if left {
			again = time.After(pause)
			pause, j.bound = min(2*pause, janitorPauseMax), min(2*j.bound, janitorBoundMax)
		} else {
			pause, j.bound = janitorPause, janitorBound
		}
	}
}

// sweep does all the work there is, and tells whether some of it must be repeated.
func (j *janitor) sweep() (left bool) {
	j.mu.Lock()
	work := j.work
	j.work = nil
	j.mu.Unlock()
	var mu sync.Mutex
	var failed []*settlement
	together(byNode(j.locks, work, func(s *settlement) string { return s.locks[0].state }), func(work []*settlement) {
		left := j.doAll(work)
		mu.Lock()
		defer mu.Unlock()
		failed = append(failed, left...)
	})
	j.mu.Lock()
	j.work = append(failed, j.work...)
	j.mu.Unlock()
	return len(failed) > 0
}

// doAll does the work for one node, and returns what must be repeated. Where the node does not answer, what is left
// does not spend a time-out each.
func (j *janitor) doAll(work []*settlement) (failed []*settlement) {
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
		left, heard = j.do(chunk)
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

// do does a batch in one trip. It returns what must be repeated, and whether the server has answered.
func (j *janitor) do(work []*settlement) (failed []*settlement, heard bool) {
	l := j.locks
	errands := make([]errand, len(work))
	for i, s := range work {
		errands[i] = s.locks[0].kind.settling(s)
	}
	answers := l.pipeline(time.Now().Add(j.bound), errands)
	now := time.Now()
	for i, s := range work {
		s.end()
		err := answers[i].Err()
		heard = heard || isHeard(err)
		if s.home != nil && isHeard(err) && !isMoving(err) {
			s.home <- answers[i]
			s.home = nil
		}
		if err != nil && now.Before(s.until) {
			failed = append(failed, s)
		}
	}
	return failed, heard
}
