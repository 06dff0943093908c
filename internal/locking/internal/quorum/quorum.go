// Package quorum asks several independent servers at once, and stops when the answer of the majority is decided.
package quorum

import (
	"errors"
	"time"

	"inventory/internal/locking/internal/policy"
	"inventory/internal/locking/internal/scripts"
)

// Of is how many of n nodes are a quorum.
func Of(n int) int { return n/2 + 1 }

// A Poll is a question to several nodes.
type Poll[T any] struct {
	Nodes int
	Need  int           // how many must agree
	Limit time.Duration // how long they are waited for
	Busy  error         // an error that is an answer too

	Enter func(i int) (leave func(), err error) // whoever closes node i waits from Enter to leave
	Ask   func(i int, quit <-chan struct{}) (T, error)
	Late  func(T) // takes what is granted too late; may be nil
}

// A Reply is what one node said, or scripts.ErrNoAnswer.
type Reply[T any] struct {
	Value T
	Err   error

	from int
}

// Run asks all nodes at once, each in a goroutine. It returns when all have answered, when the limit has passed, or
// when it is decided whether enough of them agree and the others have had a moment. When it returns, quit is closed.
func (p Poll[T]) Run() []Reply[T] {
	t := tally[T]{Poll: p, replies: make([]Reply[T], p.Nodes)}
	came, quit := make(chan Reply[T]), make(chan struct{}) // without room: what is not received is late
	for i := range p.Nodes {
		t.replies[i].Err = scripts.ErrNoAnswer
		leave, err := p.Enter(i)
		if err != nil {
			t.add(Reply[T]{Err: err, from: i})
			continue
		}
		go func() {
			defer leave()
			value, err := p.Ask(i, quit)
			select {
			case came <- Reply[T]{value, err, i}:
			case <-quit:
				if err == nil && p.Late != nil {
					p.Late(value)
				}
			}
		}()
	}
	t.collect(came)
	close(quit)
	return t.replies
}

// A tally counts the replies so far.
type tally[T any] struct {
	Poll[T]
	replies             []Reply[T]
	agreed, busy, other int
}

// collect waits for replies. What has come when the time is over still counts.
func (t *tally[T]) collect(came <-chan Reply[T]) {
	start := time.Now()
	timer := time.NewTimer(t.Limit)
	defer timer.Stop()
	for hurry := false; t.silent() > 0; {
		if !hurry && t.decided() {
			hurry = true
			took := time.Since(start)
			timer.Reset(min(max(2*took, policy.Straggle), t.Limit-took))
		}
		select {
		case reply := <-came:
			t.add(reply)
		case <-timer.C:
			for {
				select {
				case reply := <-came:
					t.add(reply)
				default:
					return
				}
			}
		}
	}
}

func (t *tally[T]) add(r Reply[T]) {
	t.replies[r.from] = r
	switch {
	case r.Err == nil:
		t.agreed++
	case errors.Is(r.Err, t.Busy):
		t.busy++
	default:
		t.other++
	}
}

func (t *tally[T]) silent() int { return t.Nodes - t.agreed - t.busy - t.other }

// decided reports whether enough have answered, one way or the other, or not enough can agree any more.
//
// A candidate that has some nodes and not enough must not keep them while others are silent: two that did so would be in each
// other's way for ever. One that has none keeps nobody from anything. It waits while those who are silent can still make
// sure that the lock is busy, which is no fault.
func (t *tally[T]) decided() bool {
	switch {
	case t.agreed+t.busy >= t.Need:
		return true
	case t.agreed > 0:
		return t.agreed+t.silent() < t.Need
	default:
		return t.busy+t.silent() < t.Need
	}
}
