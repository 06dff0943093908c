package breaks

import (
	"context"
	"slices"
	"sync"
)

// tidy is an access that gives back, when it is closed, what its callers have not: a connection that is still in use would
// keep its pool open.
type tidy struct {
	*access
	mu   sync.Mutex
	held []*grip
}

// tidied makes an access tidy.
func tidied(a *access) *access {
	t := &tidy{access: a}
	return &access{
		lock:   func(ctx context.Context, name string) (*grip, error) { return t.note(a.lock(ctx, name)) },
		try:    func(ctx context.Context, name string) (*grip, error) { return t.note(a.try(ctx, name)) },
		forget: a.forget,
		close:  t.close,
	}
}

// note remembers a grip until it is given back.
func (t *tidy) note(g *grip, err error) (*grip, error) {
	if g == nil || err != nil {
		return nil, err
	}
	noted := &grip{fence: g.fence, lost: g.lost}
	noted.unlock = func(ctx context.Context) error {
		t.forget(noted)
		return g.unlock(ctx)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.held = append(t.held, noted)
	return noted, nil
}

func (t *tidy) forget(g *grip) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.held = slices.DeleteFunc(t.held, func(held *grip) bool { return held == g })
}

func (t *tidy) close() error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for _, g := range slices.Clone(t.held) {
		_ = g.unlock(ctx) // the lock may be gone, which is what trials are about
	}
	return t.access.close()
}
