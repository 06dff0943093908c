package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"inventory/internal/stock"
	"inventory/internal/stock/tables"
)

// Audit implements [stock.Store].
func (s *Store) Audit(ctx context.Context, sku string) (audit stock.Audit, err error) {
	err = s.pool.snapshot(ctx, pgx.TxOptions{BeginQuery: beginSnapshot}, func(tx transaction) error {
		audit, err = tables.Base{DB: tx}.Audit(ctx, sku)
		return err
	})
	return audit, err
}
