package postgres

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"inventory/internal/stock"
)

const insertSKU = `
INSERT INTO skus (sku_id, name, initial, segments, created_at) VALUES ($1, $2, $3, $4, $5)
ON CONFLICT (sku_id) DO NOTHING`

const insertSegments = `
INSERT INTO stock_segments (sku_id, segment, available)
SELECT $1, n - 1, a FROM unnest($2::bigint[]) WITH ORDINALITY AS spread (a, n)`

// CreateSKU implements [stock.Store].
func (s *Store) CreateSKU(ctx context.Context, sku stock.NewSKU, at time.Time) (created bool, err error) {
	err = s.inTx(ctx, func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, insertSKU, sku.SKU, sku.Name, sku.Stock, sku.Segments, at)
		if err != nil {
			return err
		}
		if created = tag.RowsAffected() == 1; !created {
			return sameSKU(ctx, tx, sku)
		}
		_, err = tx.Exec(ctx, insertSegments, sku.SKU, stock.Spread(sku.Stock, sku.Segments))
		return err
	})
	return created, err
}

func sameSKU(ctx context.Context, tx pgx.Tx, sku stock.NewSKU) error {
	there := stock.NewSKU{SKU: sku.SKU}
	err := tx.QueryRow(ctx, `SELECT name, initial, segments FROM skus WHERE sku_id = $1`, sku.SKU).
		Scan(&there.Name, &there.Stock, &there.Segments)
	if err == nil && there != sku {
		return stock.SKUExists(sku.SKU)
	}
	return err
}

// One statement, so one snapshot. Committed is what is neither available nor reserved: summing up the deductions
// of a hot SKU at every look would cost too much, and the audit does it.
const selectStatus = `
SELECT k.name, k.initial + coalesce((SELECT sum(quantity) FROM movements m WHERE m.sku_id = $1), 0)::bigint,
       (SELECT array_agg(available ORDER BY segment) FROM stock_segments g WHERE g.sku_id = $1)
FROM skus k WHERE k.sku_id = $1`

// Status implements [stock.Store].
func (s *Store) Status(ctx context.Context, sku string) (stock.Status, error) {
	status := stock.Status{SKU: sku}
	err := s.pool.QueryRow(ctx, selectStatus, sku).Scan(&status.Name, &status.Stock, &status.Segments)
	if errors.Is(err, pgx.ErrNoRows) {
		return stock.Status{}, stock.UnknownSKU(sku)
	}
	if err != nil {
		return stock.Status{}, err
	}
	for _, available := range status.Segments {
		status.Available += available
	}
	status.Committed = status.Stock - status.Available
	return status, nil
}

// Segments implements [stock.Store].
func (s *Store) Segments(ctx context.Context, sku string) ([]int64, error) {
	rows, err := s.pool.Query(ctx, `SELECT available FROM stock_segments WHERE sku_id = $1 ORDER BY segment`, sku)
	if err != nil {
		return nil, err
	}
	segments, err := pgx.CollectRows(rows, pgx.RowTo[int64])
	if err == nil && len(segments) == 0 {
		err = stock.UnknownSKU(sku)
	}
	return segments, err
}
