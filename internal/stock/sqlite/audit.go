package sqlite

import (
	"context"
	"database/sql"
	_ "embed"

	"inventory/internal/stock"
)

//go:embed audit.sql
var auditSQL string

// Audit implements [stock.Store]. One statement reads one snapshot.
func (s *Store) Audit(ctx context.Context) (audit stock.Audit, err error) {
	err = s.each(ctx, func(rows *sql.Rows) error {
		var line stock.AuditLine
		err := rows.Scan(line.Columns()...)
		audit.Add(line)
		return err
	}, auditSQL)
	return audit, err
}
