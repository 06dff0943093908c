package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"inventory/internal/stock"
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
	err = pgx.BeginTxFunc(ctx, s.pool, snapshot, func(tx pgx.Tx) error {
		var err error
		if found, err = readSoldOut(ctx, tx, sku); err != nil || !found.SoldOut {
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
	return found, err
}

func readSoldOut(ctx context.Context, q querier, sku string) (found stock.SoldOutState, err error) {
	var until *time.Time
	var soldOut *bool
	if err := q.QueryRow(ctx, selectSoldOut, sku, stock.ArchivedLayout).Scan(&found.Versions, &soldOut, &until); err != nil {
		return stock.SoldOutState{}, err
	}
	if found.Versions == nil {
		return stock.SoldOutState{}, stock.UnknownSKU(sku)
	}
	found.SoldOut, found.NextExpiry = *soldOut, timeOf(until)
	return found, nil
}
