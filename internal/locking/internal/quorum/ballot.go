package quorum

import (
	"errors"
	"sync"
	"time"

	"inventory/internal/locking/internal/policy"
	"inventory/internal/locking/internal/scripts"
)

// A ballot collects replies until it is over.
type ballot[T any] struct {
	need      int
	busyError error
	votes     chan vote[T]
	quit      chan struct{}

	mu   sync.Mutex
	over bool

	replies             []Reply[T]
	agreed, busy, other int
}

type vote[T any] struct {
	from int
	Reply[T]
}

func newBallot[T any](n, need int, busy error) *ballot[T] {
	b := &ballot[T]{need: need, busyError: busy, votes: make(chan vote[T], n), quit: make(chan struct{}), replies: make([]Reply[T], n)}
	for i := range b.replies {
		b.replies[i].Err = scripts.ErrNoAnswer
	}
	return b
}

// cast hands a reply in, and tells whether it came in time.
func (b *ballot[T]) cast(from int, r Reply[T]) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.over {
		b.votes <- vote[T]{from, r}
	}
	return !b.over
}

// count waits for the replies.
func (b *ballot[T]) count(limit time.Duration) {
	start := time.Now()
	timer := time.NewTimer(limit)
	defer timer.Stop()
	for hurry, timely := false, true; timely && b.agreed+b.busy+b.other < len(b.replies); {
		if !hurry && b.decided() {
			hurry = true
			took := time.Since(start)
			timer.Reset(min(max(2*took, policy.Straggle), limit-took))
		}
		select {
		case v := <-b.votes:
			b.tally(v)
		case <-timer.C:
			timely = false
		}
	}
	b.mu.Lock()
	b.over = true
	b.mu.Unlock()
	close(b.quit)
	for len(b.votes) > 0 {
		b.tally(<-b.votes)
	}
}

func (b *ballot[T]) tally(v vote[T]) {
	b.replies[v.from] = v.Reply
	switch {
	case v.Err == nil:
		b.agreed++
	case errors.Is(v.Err, b.busyError):
		b.busy++
	default:
		b.other++
	}
}

// decided tells whether enough have answered, one way or the other, or not enough can agree any more.
//
// A candidate that has some nodes and not enough must not keep them while others are silent: two that did so would be in each
// other's way for ever. One that has none keeps nobody from anything. It waits while those who are silent can still make
// sure that the lock is busy, which is no fault.
func (b *ballot[T]) decided() bool {
	silent := len(b.replies) - b.agreed - b.busy - b.other
	switch {
	case b.agreed+b.busy >= b.need:
		return true
	case b.agreed > 0:
		return b.agreed+silent < b.need
	default:
		return b.busy+silent < b.need
	}
}
