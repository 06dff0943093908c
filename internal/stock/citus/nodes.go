package citus

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"inventory/internal/stock/postgres"
)

// watchPause is how long after a node's notifications have stopped Watch listens there again.
const watchPause = time.Second

// Watch implements [stock.Store]. A notification stays at the node that sends it, so Watch listens at all of them, and at the
// coordinator, which gives back expired reservations before orders of several SKUs. If a node fails, Watch still listens at
// the others; when the node is back, listening is called again.
func (s *Store) Watch(ctx context.Context, listening func(), restocked func(sku string)) error {
	var watchers sync.WaitGroup
	defer watchers.Wait()
	var mu sync.Mutex // one callback runs at a time
	calm := func() { mu.Lock(); defer mu.Unlock(); listening() }
	tell := func(sku string) { mu.Lock(); defer mu.Unlock(); restocked(sku) }
	watched := make(map[*postgres.Store]bool)
	for {
		s.mu.RLock()
		nodes, changed := s.now.nodes, s.changed
		s.mu.RUnlock()
		for _, n := range append([]*node{s.coordinator}, nodes...) {
			if !watched[n.store] {
				watched[n.store] = true
				watchers.Go(func() { s.watchOne(ctx, n, calm, tell) })
			}
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// watchOne listens at a node, restarts after each failure, and records why it does not listen.
func (s *Store) watchOne(ctx context.Context, n *node, listening func(), restocked func(string)) {
	for ctx.Err() == nil {
		err := n.store.Watch(ctx, func() {
			s.note(&n.watchErr, nil)
			listening()
		}, restocked)
		if ctx.Err() != nil {
			return
		}
		s.note(&n.watchErr, err)
		select {
		case <-time.After(watchPause):
		case <-ctx.Done():
		}
	}
}

func (s *Store) note(state *error, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	*state = err
}

// nodeAnswer is how long a node may take to say that it takes writes. It is less than a probe waits.
const nodeAnswer = 1500 * time.Millisecond

// Nodes returns, by address, an error for each node with shards that did not take writes at the last [Store.Ready] or whose
// notifications are not received, and nil for the others. The coordinator is included only while its notifications are not
// received.
func (s *Store) Nodes() map[string]error {
	s.mu.RLock()
	defer s.mu.RUnlock()
	state := make(map[string]error, len(s.now.nodes))
	for _, n := range s.now.nodes {
		state[n.address] = errors.Join(n.state, n.watchErr)
	}
	if err := s.coordinator.watchErr; err != nil {
		state[s.coordinator.address] = err
	}
	return state
}

// Ready implements [stock.Store]. One node that takes writes is enough: only the SKUs of other nodes are unavailable then.
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

// ask records whether a node takes writes. It goes on after its caller has stopped waiting.
func (s *Store) ask(ctx context.Context, p *placements, n *node) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), nodeAnswer)
	defer cancel()
	err := n.store.Ready(ctx)
	if err != nil {
		err = fmt.Errorf("node %s: %w", n.address, err)
		s.loadSoon(p)
	}
	s.note(&n.state, err)
	return err
}

// Ping implements [stock.Store].
func (s *Store) Ping(ctx context.Context) error { return s.Ready(ctx) }
