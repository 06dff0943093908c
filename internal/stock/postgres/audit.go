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
func (s *Store) Audit(ctx context.Context) (audit stock.Audit, err error) {
	snapshot := pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}
	err = pgx.BeginTxFunc(ctx, s.pool, snapshot, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, auditSQL)
		if err != nil {
			return err
		}
		var line stock.AuditLine
		_, err = pgx.ForEachRow(rows, line.Columns(), func() error {
			audit.Add(line)
			return nil
		})
		return err
	})
	return audit, err
}
