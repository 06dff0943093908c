package locking

import (
	"errors"
	"time"

	"inventory/internal/locking/internal/policy"
)

// A reply is what a node said: the hold that it has granted, or whose part it is; or an error, ErrNoAnswer until it says something.
type reply struct {
	hold *singleHold
	err  error
	node int
}

// A poll is a question to several nodes, with the replies so far.
type poll struct {
	need                int // how many must agree
	replies             []reply
	agreed, busy, other int
}

// askAll asks all nodes at once, each in a goroutine, for which Close of the node's Locks waits. It returns when all have answered,
// when the limit has passed, or when it is decided whether enough of them agree and the others have had a moment. When it
// returns, quit is closed. What is granted too late goes to late, unless that is nil.
func askAll(nodes []*Locks, need int, limit time.Duration, ask func(i int, quit <-chan struct{}) (*singleHold, error), late func(*singleHold)) []reply {
	p := &poll{need: need, replies: make([]reply, len(nodes))}
	came, quit := make(chan reply), make(chan struct{}) // without room: what is not received is late
	for i, l := range nodes {
		p.replies[i].err = ErrNoAnswer
		if err := l.enter(); err != nil {
			p.add(reply{err: err, node: i})
			continue
		}
		go func() {
			defer l.calls.Done()
			hold, err := ask(i, quit)
			select {
			case came <- reply{hold, err, i}:
			case <-quit:
				if err == nil && late != nil {
					late(hold)
				}
			}
		}()
	}
	p.collect(came, limit)
	close(quit)
	return p.replies
}

// askParts does something with all parts at once.
func askParts(nodes []*singleHold, need int, limit time.Duration, do func(node *singleHold) error) []reply {
	locks := make([]*Locks, len(nodes))
	for i, node := range nodes {
		locks[i] = node.locks
	}
	return askAll(locks, need, limit, func(i int, _ <-chan struct{}) (*singleHold, error) { return nodes[i], do(nodes[i]) }, nil)
}

// collect waits for replies. What has come when the time is over still counts.
func (p *poll) collect(came <-chan reply, limit time.Duration) {
	start := time.Now()
	timer := time.NewTimer(limit)
	defer timer.Stop()
	for hurry := false; p.silent() > 0; {
		if !hurry && p.decided() {
			hurry = true
			took := time.Since(start)
			timer.Reset(min(max(2*took, policy.Straggle), limit-took))
		}
		select {
		case r := <-came:
			p.add(r)
		case <-timer.C:
			for {
				select {
				case r := <-came:
					p.add(r)
				default:
					return
				}
			}
		}
	}
}

func (p *poll) add(r reply) {
	p.replies[r.node] = r
	switch {
	case r.err == nil:
		p.agreed++
	case errors.Is(r.err, ErrBusy):
		p.busy++
	default:
		p.other++
	}
}

func (p *poll) silent() int { return len(p.replies) - p.agreed - p.busy - p.other }

// decided reports whether enough have answered, one way or the other, or not enough can agree any more.
//
// A candidate that has some nodes and not enough must not keep them while others are silent: two that did so would be in each
// other's way for ever. One that has none keeps nobody from anything. It waits while those who are silent can still make
// sure that the lock is busy, which is no fault.
func (p *poll) decided() bool {
	switch {
	case p.agreed+p.busy >= p.need:
		return true
	case p.agreed > 0:
		return p.agreed+p.silent() < p.need
	default:
		return p.busy+p.silent() < p.need
	}
}
