package classroom

import (
	"context"
	"sync"
	"time"

	"inventory/internal/stock"
)

// gate is between a process and the database, and before new connections to Redis. While it is shut the process stands
// still, like a process that was stopped or gets no processor time.
type gate struct {
	mu   sync.Mutex
	open chan struct{} // closed when the gate opens; nil: it is open
}

func (g *gate) shut() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.open == nil {
		g.open = make(chan struct{})
	}
}

func (g *gate) reopen() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.open != nil {
		close(g.open)
		g.open = nil
	}
}

func (g *gate) isShut() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.open != nil
}

// pass waits while the gate is shut.
func (g *gate) pass() {
	g.mu.Lock()
	open := g.open
	g.mu.Unlock()
	if open != nil {
		<-open
	}
}

// gatedStore is the store behind the gate of one process. A call while the gate is shut goes on late, with its old
// fencing token and deadline.
type gatedStore struct {
	stock.Store
	gate *gate
}

// Deduct implements [stock.Store].
func (s gatedStore) Deduct(ctx context.Context, batch stock.Batch) (stock.BatchResult, error) {
	s.gate.pass()
	return s.Store.Deduct(ctx, batch)
}

// Merge implements [stock.Store].
func (s gatedStore) Merge(ctx context.Context, merge stock.Batch) (stock.BatchResult, error) {
	s.gate.pass()
	return s.Store.Merge(ctx, merge)
}

// Order implements [stock.Store].
func (s gatedStore) Order(ctx context.Context, placement stock.Placement) ([]stock.Deduction, bool, error) {
	s.gate.pass()
	return s.Store.Order(ctx, placement)
}

// Settle implements [stock.Store].
func (s gatedStore) Settle(ctx context.Context, settlement stock.Settlement) ([]stock.Settled, error) {
	s.gate.pass()
	return s.Store.Settle(ctx, settlement)
}

// Expire implements [stock.Store].
func (s gatedStore) Expire(ctx context.Context, sku string, at time.Time) (int, error) {
	s.gate.pass()
	return s.Store.Expire(ctx, sku, at)
}

// Move implements [stock.Store].
func (s gatedStore) Move(ctx context.Context, m stock.Movement) (bool, error) {
	s.gate.pass()
	return s.Store.Move(ctx, m)
}

// Views implements [stock.Store].
func (s gatedStore) Views(ctx context.Context, skus ...string) (map[string]stock.View, error) {
	s.gate.pass()
	return s.Store.Views(ctx, skus...)
}
