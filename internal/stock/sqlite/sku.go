package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"inventory/internal/stock"
)

const insertSKU = `
INSERT INTO skus (sku_id, name, initial, segments, created_at) VALUES ($1, $2, $3, $4, $5)
ON CONFLICT DO NOTHING`

const insertSegment = `INSERT INTO stock_segments (sku_id, segment, available) VALUES ($1, $2, $3)`

// CreateSKU implements [stock.Store].
func (s *Store) CreateSKU(ctx context.Context, sku stock.NewSKU, at time.Time) (created bool, err error) {
	err = s.inTx(ctx, func(tx *sql.Tx) error {
		created, err = changed(tx.ExecContext(ctx, insertSKU, sku.SKU, sku.Name, sku.Stock, sku.Segments, micros(at)))
		if err != nil {
			return err
		}
		if !created {
			return sameSKU(ctx, tx, sku)
		}
		for segment, units := range stock.Spread(sku.Stock, sku.Segments) {
			if _, err := tx.ExecContext(ctx, insertSegment, sku.SKU, segment, units); err != nil {
				return err
			}
		}
		return nil
	})
	return created, err
}

func sameSKU(ctx context.Context, tx *sql.Tx, sku stock.NewSKU) error {
	there := stock.NewSKU{SKU: sku.SKU}
	err := tx.QueryRowContext(ctx, `SELECT name, initial, segments FROM skus WHERE sku_id = $1`, sku.SKU).
		Scan(&there.Name, &there.Stock, &there.Segments)
	if err == nil && there != sku {
		return stock.SKUExists(sku.SKU)
	}
	return err
}

// One statement, so one snapshot: a row for each segment.
const selectStatus = `
SELECT k.name, k.initial + coalesce((SELECT sum(quantity) FROM movements m WHERE m.sku_id = $1), 0), g.available
FROM skus k JOIN stock_segments g USING (sku_id)
WHERE k.sku_id = $1 ORDER BY g.segment`

// Status implements [stock.Store].
func (s *Store) Status(ctx context.Context, sku string) (stock.Status, error) {
	status := stock.Status{SKU: sku}
	err := s.each(ctx, func(rows *sql.Rows) error {
		var available int64
		err := rows.Scan(&status.Name, &status.Stock, &available)
		status.Segments = append(status.Segments, available)
		status.Available += available
		return err
	}, selectStatus, sku)
	if err == nil && status.Segments == nil {
		err = stock.UnknownSKU(sku)
	}
	status.Committed = status.Stock - status.Available
	return status, err
}

// Segments implements [stock.Store].
func (s *Store) Segments(ctx context.Context, sku string) (segments []int64, err error) {
	err = s.each(ctx, func(rows *sql.Rows) error {
		var available int64
		err := rows.Scan(&available)
		segments = append(segments, available)
		return err
	}, `SELECT available FROM stock_segments WHERE sku_id = $1 ORDER BY segment`, sku)
	if err == nil && segments == nil {
		err = stock.UnknownSKU(sku)
	}
	return segments, err
}

// querier is a database or a transaction.
type querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// each calls scan for every row of a query by a reader.
func (s *Store) each(ctx context.Context, scan func(*sql.Rows) error, query string, args ...any) error {
	return eachRow(ctx, s.reader, scan, query, args...)
}

func eachRow(ctx context.Context, q querier, scan func(*sql.Rows) error, query string, args ...any) error {
	rows, err := q.QueryContext(ctx, query, args...)
	if err != nil {
		return err
	}
	for rows.Next() {
		if err := scan(rows); err != nil {
			return errors.Join(err, rows.Close())
		}
	}
	return errors.Join(rows.Err(), rows.Close())
}

// changed tells whether a statement changed a row.
func changed(result sql.Result, err error) (bool, error) {
	if err != nil {
		return false, err
	}
	n, err := result.RowsAffected()
	return n > 0, err
}
