package breaks

import (
	"context"
	"time"

	"inventory/internal/locking"
	"inventory/loadtest/internal/kinds"
)

const (
	// patience bounds the end of a client.
	patience = 3 * time.Second
	// poll is how often waiters try that can only poll.
	poll = 20 * time.Millisecond
	// enough connections if their number does not matter.
	enough = 8
	// hearing bounds how long a lock may take to report its loss, when the process runs again.
	hearing = 5 * time.Second
)

// party is a client of one lock. Its end gives back what it still holds: a connection in use would keep its pool open.
type party struct {
	client *kinds.Client
	way    kinds.Lock
	taken  []*grip
}

// join opens a client for the lock of a name.
func join(ctx context.Context, k kinds.Kind, name string, s kinds.Setting) (*party, error) {
	s.Poll = poll
	if s.Connections == 0 {
		s.Connections = enough
	}
	client, err := k.Open(ctx, s)
	if err != nil {
		return nil, err
	}
	return &party{client: client, way: client.Lock(name)}, nil
}

func (p *party) lock(ctx context.Context) (*grip, error) { return p.note(p.way.Lock(ctx)) }

func (p *party) note(hold kinds.Hold, err error) (*grip, error) {
	if err != nil {
		return nil, err
	}
	g := &grip{hold: hold}
	p.taken = append(p.taken, g)
	return g, nil
}

func (p *party) close() error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for _, g := range p.taken {
		if !g.over {
			_ = g.unlock(ctx) // the lock may be gone, which is what trials are about
		}
	}
	return p.client.Close()
}

// grip is a lock that was taken.
type grip struct {
	hold kinds.Hold
	over bool
}

func (g *grip) unlock(ctx context.Context) error {
	g.over = true
	return g.hold.Unlock(ctx)
}

// fence returns the token for a row, and its owner; false: the lock has none. A MultiLock has the token of its first
// part.
func (g *grip) fence() (token int64, owner string, has bool) {
	ours, is := g.hold.(*locking.Hold)
	if !is {
		return 0, "", false
	}
	if ours.Token() == 0 {
		ours = ours.Parts()[0]
	}
	return ours.Token(), ours.Owner(), true
}

// told is how the lock reports its loss; "": it is not lost, or does not report it.
func (g *grip) told() string {
	ours, is := g.hold.(*locking.Hold)
	if !is {
		return ""
	}
	select {
	case <-ours.Context().Done():
		return context.Cause(ours.Context()).Error()
	case <-time.After(hearing):
		return ""
	}
}
