package postgres

import (
	"context"
	_ "embed"

	"github.com/jackc/pgx/v5"

	"inventory/internal/stock"
)

//go:embed audit.sql
var auditSQL string

// Audit implements [stock.Store].
func (s *Store) Audit(ctx context.Context, sku string) (audit stock.Audit, err error) {
	err = pgx.BeginTxFunc(ctx, s.pool, pgx.TxOptions{BeginQuery: beginSnapshot}, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, auditSQL, sku)
		if err != nil {
			return err
		}
		var line stock.AuditLine
		_, err = pgx.ForEachRow(rows, line.Columns(), func() error {
			audit.Add(line)
			return nil
		})
		if err == nil && sku != "" && len(audit.SKUs) == 0 {
			err = stock.UnknownSKU(sku)
		}
		return err
	})
	return audit, err
}
