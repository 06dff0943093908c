package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5/pgtype"

	"inventory/internal/stock"
	"inventory/internal/stock/tables"
)

// SoldOut implements [stock.Store].
//
// A million ids take a third of a second, and no other transaction waits for that: no row is locked, because the snapshot of
// REPEATABLE READ has the versions, the zero and the ids of one instant.
func (s *Store) SoldOut(ctx context.Context, skus []string, limit int, accepted func(sku, orderID []byte)) (views map[string]stock.View, err error) {
	if limit == 0 {
		return tables.SoldOut(ctx, s.pool, skus, limit, nil) // one statement is one snapshot
	}
	var sku, id pgtype.DriverBytes // the connection's own buffer: no copy of each id
	read := tables.Scanned(func() { accepted(sku, id) }, &sku, &id)
	err = s.pool.snapshot(ctx, `BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY; `, func(tx transaction) error {
		views, err = tables.SoldOut(ctx, tx, skus, limit, read)
		return err
	})
	return views, err
}

// Audit implements [stock.Store].
func (s *Store) Audit(ctx context.Context, sku string, audited func(done, of int)) (audit stock.Audit, err error) {
	err = s.pool.snapshot(ctx, beginSnapshot, func(tx transaction) error {
		audit, err = tables.Audit(ctx, tx, sku, audited)
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
