// Package quorum asks several independent servers at once, and stops when it is decided what most of them say.
package quorum

import (
	"slices"
	"time"
)

// straggle is how long a node is waited for, at least, when the result no longer depends on it: with each further node,
// one more may forget the lock. While a node is silent, every acquisition costs that much.
const straggle = 10 * time.Millisecond

// Of is how many of n nodes are a quorum.
func Of(n int) int { return n/2 + 1 }

// Nth returns the largest value that at least n of them reach, or zero if there are fewer.
func Nth[T int | time.Duration](values []T, n int) T {
	if len(values) < n {
		return 0
	}
	slices.Sort(values)
	return values[len(values)-n]
}

// A Reply is what one node said, or scripts.ErrNoAnswer.
type Reply[T any] struct {
	Value T
	Err   error
}

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

// Run asks all nodes at once, each in a goroutine. It returns when all have answered, when the limit has passed, or
// when it is decided whether enough of them agree and the others have had a moment. When it returns, quit is closed.
func (p Poll[T]) Run() []Reply[T] {
	b := newBallot[T](p.Nodes, p.Need, p.Busy)
	for i := range p.Nodes {
		leave, err := p.Enter(i)
		if err != nil {
			b.cast(i, Reply[T]{Err: err})
			continue
		}
		go func() {
			defer leave()
			value, err := p.Ask(i, b.quit)
			if !b.cast(i, Reply[T]{value, err}) && err == nil && p.Late != nil {
				p.Late(value)
			}
		}()
	}
	b.count(p.Limit)
	return b.replies
}
