// Package cleaner makes script calls in the background: it cancels attempts whose outcome is uncertain, repeats releases that
// were not confirmed, leaves queues and gives reservations back.
package cleaner

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"inventory/internal/locking/internal/policy"
	"inventory/internal/locking/internal/scripts"
	"inventory/internal/locking/internal/server"
)

// A Cleaner makes many calls in one round trip, so that a server that comes back does not get them all at once.
type Cleaner struct {
	server *server.Server
	wake   chan struct{}

	bound policy.Backoff // how long the next round trip may take

	mu   sync.Mutex
	work []*Task
}

// New returns a cleaner, which works while Run does.
func New(s *server.Server) *Cleaner {
	return &Cleaner{server: s, wake: make(chan struct{}, 1), bound: policy.CleanerAnswer()}
}

// A Task is a call to make.
type Task struct {
	Work   Work
	Until  time.Time         // the call is repeated until then; zero: it is tried once
	Tried  func()            // called after the first try; may be nil
	Answer chan<- *redis.Cmd // with room for one; receives the server's answer; may be nil

	done     chan struct{} // closed after the first try
	finished bool          // it needs no repetition
}

// Work is what a task is about.
type Work interface {
	Key() string        // a key of the call, which determines the node
	Call() scripts.Call // a new one for each try
}

// Add hands over a task. The channel is closed when it has been tried.
func (c *Cleaner) Add(t Task) <-chan struct{} {
	t.done = make(chan struct{})
	c.mu.Lock()
	c.work = append(c.work, &t)
	c.mu.Unlock()
	select {
	case c.wake <- struct{}{}:
	default:
	}
	return t.done
}

// Run works until stop is closed, and then once more.
func (c *Cleaner) Run(stop <-chan struct{}) {
	pause := policy.Reconnect()
	var again <-chan time.Time
	for {
		stopped := false
		select {
		case <-c.wake:
		case <-again:
		case <-stop:
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

// sweep tries all tasks, and reports whether some must be repeated. A task that was skipped because its node is silent counts
// as tried.
func (c *Cleaner) sweep() (left bool) {
	c.mu.Lock()
	work := c.work
	c.work = nil
	c.mu.Unlock()
	server.EachBatch(c.server, work, func(t *Task) string { return t.Work.Key() }, c.do)
	work = slices.DeleteFunc(work, func(t *Task) bool { return t.finished })
	for _, t := range work {
		t.end()
	}
	c.mu.Lock()
	c.work = append(work, c.work...)
	c.mu.Unlock()
	return len(work) > 0
}

// end reports that a task has been tried to those that wait for it.
func (t *Task) end() {
	if t.Tried != nil {
		t.Tried()
		t.Tried = nil
	}
	select {
	case <-t.done:
	default:
		close(t.done)
	}
}

// do tries a batch in one round trip, and reports whether the server has answered.
func (c *Cleaner) do(work []*Task) (answered bool) {
	calls := make([]scripts.Call, len(work))
	for i, t := range work {
		calls[i] = t.Work.Call()
	}
	answers, answered := c.server.RunAll(context.Background(), time.Now().Add(c.bound.Now()), calls)
	now := time.Now()
	for i, t := range work {
		t.end()
		err := answers[i].Err()
		if t.Answer != nil && server.IsAnswer(err) && !c.server.IsMoving(err) {
			t.Answer <- answers[i]
			t.Answer = nil
		}
		t.finished = err == nil || !now.Before(t.Until)
	}
	return answered
}
