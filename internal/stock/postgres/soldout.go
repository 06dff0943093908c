package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"inventory/internal/stock"
	"inventory/internal/stock/tables"
)

// One row, null for a SKU that does not exist. What is archived is not sold out: $2 is the layout of its rows.
const selectSoldOut = `
SELECT array_agg(version ORDER BY segment), coalesce(sum(available), 0) = 0 AND min(layout) <> $2,
       (SELECT expires_at FROM deductions WHERE sku_id = $1 AND status = 'reserved' ORDER BY expires_at LIMIT 1)
FROM stock_segments WHERE sku_id = $1`

const selectAccepted = `SELECT order_id FROM deductions WHERE sku_id = $1 LIMIT $2`

// SoldOut implements [stock.Store].
//
// A million ids take a third of a second, and nobody waits for that: the snapshot of REPEATABLE READ is what makes
// versions, zero and ids one fact, so no row is locked.
func (s *Store) SoldOut(ctx context.Context, sku string, limit int, accepted func([]byte)) (found stock.SoldOutState, err error) {
	if limit == 0 {
		return readSoldOut(ctx, s.pool, sku) // one statement is one snapshot
	}
	snapshot := pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}
	err = s.pool.snapshot(ctx, snapshot, func(tx transaction) error {
		var err error
		if found, err = readSoldOut(ctx, tx, sku); err != nil || !found.SoldOut {
			return err
		}
		var id pgtype.DriverBytes // the connection's own buffer: no copy of each id
		column := []any{&id}
		return tx.Each(ctx, func(row tables.Row) error {
			err := row.Scan(column...)
			accepted(id)
			return err
		}, selectAccepted, sku, limit)
	})
	return found, err
}

func readSoldOut(ctx context.Context, q tables.Querier, sku string) (found stock.SoldOutState, err error) {
	var soldOut *bool
	columns := []any{&found.Versions, &soldOut, (*tables.Time)(&found.NextExpiry)}
	if err := tables.Single(ctx, q, columns, selectSoldOut, sku, stock.ArchivedLayout); err != nil {
		return stock.SoldOutState{}, err
	}
	if found.Versions == nil {
		return stock.SoldOutState{}, stock.UnknownSKU(sku)
	}
	found.SoldOut = *soldOut
	return found, nil
}
