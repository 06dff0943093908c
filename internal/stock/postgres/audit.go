package postgres

import (
	"context"
	_ "embed"

	"github.com/jackc/pgx/v5"

	"inventory/internal/stock"
	"inventory/internal/stock/tables"
)

//go:embed audit.sql
var auditSQL string

// Audit implements [stock.Store].
func (s *Store) Audit(ctx context.Context, sku string) (audit stock.Audit, err error) {
	err = s.pool.snapshot(ctx, pgx.TxOptions{BeginQuery: beginSnapshot}, func(tx transaction) error {
		return tx.Each(ctx, func(row tables.Row) error {
			var line stock.AuditLine
			err := row.Scan(line.Columns()...)
			audit.Add(line)
			return err
		}, auditSQL, sku)
	})
	if err == nil && sku != "" && len(audit.SKUs) == 0 {
		err = stock.UnknownSKU(sku)
	}
	return audit, err
}
