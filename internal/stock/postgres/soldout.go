package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"inventory/internal/stock"
	"inventory/internal/stock/tables"
)

// SoldOut implements [stock.Store].
//
// A million ids take a third of a second, and no other transaction waits for that: no row is locked, because the snapshot of
// REPEATABLE READ has the versions, the zero and the ids of one instant.
func (s *Store) SoldOut(ctx context.Context, sku string, limit int, accepted func([]byte)) (found stock.SoldOutState, err error) {
	if limit == 0 {
		return tables.SoldOut(ctx, noting{s.pool, s.clock}, sku) // one statement is one snapshot
	}
	snapshot := pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}
	err = s.pool.snapshot(ctx, snapshot, func(tx transaction) error {
		var err error
		if found, err = tables.SoldOut(ctx, tx, sku); err != nil || !found.SoldOut {
			return err
		}
		var id pgtype.DriverBytes // the connection's own buffer: no copy of each id
		column := []any{&id}
		return tx.Each(ctx, func(row tables.Row) error {
			err := row.Scan(column...)
			accepted(id)
			return err
		}, tables.SelectAccepted, sku, limit)
	})
	return found, err
}
