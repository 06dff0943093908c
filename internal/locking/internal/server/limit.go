package server

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// limit is a context with a deadline that usually costs no timer. Code that reads from a socket looks at Deadline. Code
// that waits for a connection waits for Done. But before that the client always asks once whether the context has
// ended. So the first call of Done returns the parent's; from the second on there is a timer, and the deadline ends the
// context for everybody.
type limit struct {
	context.Context
	until time.Time
	looks atomic.Int32
	once  sync.Once
	ends  atomic.Pointer[ending]
}

// ending is a limit that somebody waits for.
type ending struct {
	context.Context
	cancel context.CancelFunc
}

// Deadline returns the earlier one of its own and its parent's.
func (l *limit) Deadline() (time.Time, bool) {
	if theirs, ok := l.Context.Deadline(); ok && theirs.Before(l.until) {
		return theirs, true
	}
	return l.until, true
}

// Done returns what is closed at the deadline, or with the parent.
func (l *limit) Done() <-chan struct{} {
	if l.looks.Add(1) == 1 {
		return l.Context.Done()
	}
	l.once.Do(func() {
		ctx, cancel := context.WithDeadline(l.Context, l.until)
		l.ends.Store(&ending{ctx, cancel})
	})
	return l.ends.Load().Done()
}

// Err tells whether it has ended.
func (l *limit) Err() error {
	if e := l.ends.Load(); e != nil {
		return e.Err()
	}
	return l.Context.Err()
}

// close gives back what Done has taken.
func (l *limit) close() {
	if e := l.ends.Load(); e != nil {
		e.cancel()
	}
}
