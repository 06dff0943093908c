package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"inventory/internal/stock"
)

// One row, null for a SKU that does not exist.
const selectVersions = `
SELECT array_agg(version ORDER BY segment), coalesce(sum(available), 0) = 0 FROM stock_segments WHERE sku_id = $1`

const selectAccepted = `SELECT order_id FROM deductions WHERE sku_id = $1 LIMIT $2`

// SoldOut implements [stock.Store].
//
// A million ids take a third of a second, and nobody waits for that: the snapshot of REPEATABLE READ is what makes
// versions, zero and ids one fact, so no row is locked.
func (s *Store) SoldOut(ctx context.Context, sku string, limit int, accepted func([]byte)) (versions []int64, soldOut bool, err error) {
	if limit == 0 {
		return readVersions(ctx, s.pool, sku) // one statement is one snapshot
	}
	snapshot := pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}
	err = pgx.BeginTxFunc(ctx, s.pool, snapshot, func(tx pgx.Tx) error {
		var err error
		if versions, soldOut, err = readVersions(ctx, tx, sku); err != nil || !soldOut {
			return err
		}
		rows, err := tx.Query(ctx, selectAccepted, sku, limit)
		if err != nil {
			return err
		}
		var id pgtype.DriverBytes // the connection's own buffer: no copy of each id
		_, err = pgx.ForEachRow(rows, []any{&id}, func() error {
			accepted(id)
			return nil
		})
		return err
	})
	return versions, soldOut, err
}

func readVersions(ctx context.Context, q querier, sku string) (versions []int64, soldOut bool, err error) {
	rows, err := q.Query(ctx, selectVersions, sku)
	if err != nil {
		return nil, false, err
	}
	_, err = pgx.ForEachRow(rows, []any{&versions, &soldOut}, func() error { return nil })
	if err == nil && versions == nil {
		err = stock.UnknownSKU(sku)
	}
	return versions, soldOut && err == nil, err
}
