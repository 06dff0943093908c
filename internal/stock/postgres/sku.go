package postgres

import (
	"context"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"inventory/internal/stock"
	"inventory/internal/stock/tables"
)

// Views implements [stock.Store]. Whoever reads a view holds an order to the terms, and so learns the server's clock: a process that
// only refuses would have it from long ago.
func (s *Store) Views(ctx context.Context, skus ...string) (map[string]stock.View, error) {
	views, sent := make(map[string]stock.View, len(skus)), time.Now()
	return views, s.pool.Each(ctx, func(row tables.Row) error {
		var sku string
		var view stock.View
		var now time.Time
		err := row.Scan(slices.Concat(
			[]any{&sku}, tables.Terms(&view.Terms), []any{&view.Layout, &view.Segments, (*tables.Time)(&view.NextExpiry), &now})...)
		if err == nil {
			views[sku] = view
			s.clock.note(sent, now)
		}
		return err
	}, "views", skus)
}

// reads returns the reads by whose answers a caller sees whether a reservation has expired.
func (s *Store) reads() tables.Base { return tables.Base{DB: s.pool.noting(s.clock)} }

// Deduction implements [stock.Store].
func (s *Store) Deduction(ctx context.Context, sku, orderID string) (stock.Deduction, error) {
	return s.reads().Deduction(ctx, sku, orderID)
}

// Deductions implements [stock.Store].
func (s *Store) Deductions(ctx context.Context, sku string, orderIDs []string) (map[string]stock.Deduction, error) {
	return s.reads().Deductions(ctx, sku, orderIDs)
}

// PlacedOrder implements [stock.Store].
func (s *Store) PlacedOrder(ctx context.Context, orderID string) (*stock.PlacedOrder, error) {
	return s.reads().PlacedOrder(ctx, orderID)
}

// SoldOut implements [stock.Store].
//
// A million ids take a third of a second, and no other transaction waits for that: no row is locked, because the snapshot of
// REPEATABLE READ has the versions, the zero and the ids of one instant.
func (s *Store) SoldOut(ctx context.Context, sku string, limit int, accepted func([]byte)) (found stock.Level, err error) {
	if limit == 0 {
		return tables.Level(ctx, s.pool.noting(s.clock), sku) // one statement is one snapshot
	}
	snapshot := pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}
	err = s.pool.snapshot(ctx, snapshot, func(tx transaction) error {
		var err error
		if found, err = tables.Level(ctx, tx, sku); err != nil || !found.SoldOut() {
			return err
		}
		var id pgtype.DriverBytes // the connection's own buffer: no copy of each id
		column := []any{&id}
		return tx.Each(ctx, func(row tables.Row) error {
			err := row.Scan(column...)
			accepted(id)
			return err
		}, "accepted", sku, limit)
	})
	return found, err
}

// Audit implements [stock.Store].
func (s *Store) Audit(ctx context.Context, sku string) (audit stock.Audit, err error) {
	err = s.pool.snapshot(ctx, pgx.TxOptions{BeginQuery: beginSnapshot}, func(tx transaction) error {
		audit, err = tables.Audit(ctx, tx, sku)
		return err
	})
	return audit, err
}

// pruneLock means nothing, but must be the same in all processes.
const pruneLock int64 = 7325064182

// Prune implements [stock.Store]. It waits for no row. It reads what it decides from once the rows are locked.
func (s *Store) Prune(ctx context.Context, p stock.Pruning) (pruned stock.Pruned, err error) {
	err = s.inTx(ctx, time.Time{}, func(tx transaction) error {
		var free bool
		if err := tables.Single(ctx, tx, []any{&free}, "lock_to_prune", p.SKU, pruneLock); err != nil {
			return err
		}
		if pruned = (stock.Pruned{Busy: !free}); !free {
			return nil
		}
		pruned, err = tables.Prune(ctx, tx, p)
		return err
	})
	return pruned, err
}
