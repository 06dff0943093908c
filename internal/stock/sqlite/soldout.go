package sqlite

import (
	"context"
	"database/sql"

	"inventory/internal/stock"
)

const selectVersions = `SELECT version, available FROM stock_segments WHERE sku_id = $1 ORDER BY segment`

const selectAccepted = `SELECT order_id FROM deductions WHERE sku_id = $1 LIMIT $2`

// SoldOut implements [stock.Store]. A transaction of a reader has one snapshot, and writers go on beside it.
func (s *Store) SoldOut(ctx context.Context, sku string, limit int, accepted func([]byte)) (versions []int64, soldOut bool, err error) {
	tx, err := s.reader.BeginTx(ctx, nil)
	if err != nil {
		return nil, false, err
	}
	defer tx.Rollback()
	if versions, soldOut, err = readVersions(ctx, tx, sku); err != nil || !soldOut || limit == 0 {
		return versions, soldOut, err
	}
	err = eachRow(ctx, tx, func(rows *sql.Rows) error {
		var id sql.RawBytes
		err := rows.Scan(&id)
		accepted(id)
		return err
	}, selectAccepted, sku, limit)
	return versions, err == nil, err
}

func readVersions(ctx context.Context, q querier, sku string) (versions []int64, soldOut bool, err error) {
	var left int64
	err = eachRow(ctx, q, func(rows *sql.Rows) error {
		var version, available int64
		err := rows.Scan(&version, &available)
		versions = append(versions, version)
		left += available
		return err
	}, selectVersions, sku)
	if err == nil && versions == nil {
		err = stock.UnknownSKU(sku)
	}
	return versions, err == nil && left == 0, err
}
