package quorum

import (
	"time"
)

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
