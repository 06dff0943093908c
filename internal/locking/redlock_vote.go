package locking

import (
	"errors"
	"time"

	"inventory/internal/locking/internal/policy"
)

// A reply is what a node said: the hold that it has granted, or whose part it is; or an error, ErrNoAnswer until it says
// something.
type reply struct {
	hold *singleHold
	err  error
	node int
}

// A poll is a question to several nodes, with the replies so far.
type poll struct {
	need                 int // how many must agree
	replies              []reply
	agreed, busy, silent int
}

// askAll asks all nodes at once, each in a goroutine, for which Close of the node's Locks waits. It returns when all have
// answered, when the limit has passed, or when it is decided whether enough of them agree and the others have had a moment.
// A hold that is granted too late goes to late, unless that is nil.
func askAll(nodes []*Locks, need int, limit time.Duration, ask func(i int) (*singleHold, error), late func(*singleHold)) *poll {
	p := &poll{need: need, replies: make([]reply, len(nodes)), silent: len(nodes)}
	came, quit := make(chan reply), make(chan struct{}) // without room: what is not received is late
	for i, l := range nodes {
		p.replies[i].err = ErrNoAnswer
		if err := l.enter(); err != nil {
			p.add(reply{err: err, node: i})
			continue
		}
		go func() {
			defer l.calls.Done()
			hold, err := ask(i)
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
	return p
}

// askParts does something with all parts at once.
func askParts(nodes []*singleHold, need int, limit time.Duration, do func(node *singleHold) error) *poll {
	locks := make([]*Locks, len(nodes))
	for i, node := range nodes {
		locks[i] = node.locks
	}
	return askAll(locks, need, limit, func(i int) (*singleHold, error) { return nodes[i], do(nodes[i]) }, nil)
}

// collect waits for replies. Replies that have come when the time is over still count.
func (p *poll) collect(came <-chan reply, limit time.Duration) {
	start := time.Now()
	timer := time.NewTimer(limit)
	defer timer.Stop()
	for hurry := false; p.silent > 0; {
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
	p.silent--
	if r.err == nil {
		p.agreed++
	} else if errors.Is(r.err, ErrBusy) {
		p.busy++
	}
}

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
		return p.agreed+p.silent < p.need
	default:
		return p.busy+p.silent < p.need
	}
}

// agreeing returns the holds of the nodes that agree, and an error if they are too few: ErrBusy if enough nodes have answered,
// joined with the errors of the others.
func (p *poll) agreeing(verb, name string) (nodes []*singleHold, err error) {
	for _, reply := range p.replies {
		if reply.err == nil {
			nodes = append(nodes, reply.hold)
		} else if !errors.Is(reply.err, ErrBusy) {
			err = errors.Join(err, reply.err)
		}
	}
	switch {
	case p.agreed >= p.need:
		return nodes, nil
	case p.agreed+p.busy >= p.need:
		return nodes, errors.Join(ErrBusy, err)
	default:
		return nodes, failed(verb, name, err)
	}
}
