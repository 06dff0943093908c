package citus

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"inventory/internal/stock/postgres"
)

// watchPause is how long after a node has stopped to notify it is asked again.
const watchPause = time.Second

// Watch implements [stock.Store]. A notification is of the node where it was given, so it listens at all of them, and at the
// coordinator, which gives back what expired before orders of several SKUs. A node that fails keeps nobody from listening to
// the others; when it is back, listening is called again.
func (s *Store) Watch(ctx context.Context, listening func(), restocked func(sku string)) error {
	var watchers sync.WaitGroup
	defer watchers.Wait()
	var mu sync.Mutex // the callbacks are called by one at a time
	calm := func() { mu.Lock(); defer mu.Unlock(); listening() }
	tell := func(sku string) { mu.Lock(); defer mu.Unlock(); restocked(sku) }
	watched := make(map[*postgres.Store]bool)
	for {
		s.mu.RLock()
		nodes, changed := s.now.nodes, s.changed
		s.mu.RUnlock()
		for _, n := range append([]*node{{store: s.whole}}, nodes...) {
			if !watched[n.store] {
				watched[n.store] = true
				watchers.Go(func() { watchOne(ctx, n.store, calm, tell) })
			}
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func watchOne(ctx context.Context, o *postgres.Store, listening func(), restocked func(string)) {
	for ctx.Err() == nil {
		_ = o.Watch(ctx, listening, restocked) // Nodes tells that the node is gone
		select {
		case <-time.After(watchPause):
		case <-ctx.Done():
		}
	}
}

// nodeAnswer is how long a node may take to say that it takes writes. It is less than a probe waits.
const nodeAnswer = 1500 * time.Millisecond

// Nodes tells of each node that has shards whether it took writes when [Store.Ready] asked last, by its address.
func (s *Store) Nodes() map[string]error {
	s.mu.RLock()
	defer s.mu.RUnlock()
	state := make(map[string]error, len(s.now.nodes))
	for _, n := range s.now.nodes {
		state[n.address] = n.state
	}
	return state
}

// Ready implements [stock.Store]. As soon as one node takes writes the service is of use: the SKUs of others are unavailable.
func (s *Store) Ready(ctx context.Context) error {
	p := s.placements()
	answers := make(chan error, len(p.nodes))
	for _, n := range p.nodes {
		s.running.Go(func() { answers <- s.ask(ctx, p, n) })
	}
	var errs []error
	for range p.nodes {
		err := <-answers
		if err == nil {
			return nil
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// ask notes whether a node takes writes. It goes on when nobody waits for it any more.
func (s *Store) ask(ctx context.Context, p *placements, n *node) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), nodeAnswer)
	defer cancel()
	err := n.store.Ready(ctx)
	if err != nil {
		err = fmt.Errorf("node %s: %w", n.address, err)
		s.loadSoon(p)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	n.state = err
	return err
}

// Ping implements [stock.Store].
func (s *Store) Ping(ctx context.Context) error { return s.Ready(ctx) }
