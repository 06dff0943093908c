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

// Views implements [stock.Store].
func (s *Store) Views(ctx context.Context, skus ...string) (map[string]stock.View, error) {
	views := make(map[string]stock.View, len(skus))
	return views, s.pool.Each(ctx, func(row tables.Row) error {
		var sku string
		var view stock.View
		err := row.Scan(slices.Concat(
			[]any{&sku}, tables.Terms(&view.Terms), []any{&view.Layout, &view.Segments, (*tables.Time)(&view.NextExpiry)})...)
		views[sku] = view
		return err
	}, "views", skus)
}

// SoldOut implements [stock.Store].
//
// A million ids take a third of a second, and no other transaction waits for that: no row is locked, because the snapshot of
// REPEATABLE READ has the versions, the zero and the ids of one instant.
func (s *Store) SoldOut(ctx context.Context, sku string, limit int, accepted func([]byte)) (found stock.Level, err error) {
	if limit == 0 {
		return s.Level(ctx, sku) // one statement is one snapshot
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
