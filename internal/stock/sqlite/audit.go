package sqlite

import (
	"context"
	_ "embed"

	"inventory/internal/stock"
	"inventory/internal/stock/tables"
)

//go:embed audit.sql
var auditSQL string

// aboveSKUs is above every SKU: no character of one is.
const aboveSKUs = "~"

// Audit implements [stock.Store]. One statement reads one snapshot.
func (s *Store) Audit(ctx context.Context, sku string) (audit stock.Audit, err error) {
	first, last := sku, sku
	if sku == "" {
		last = aboveSKUs
	}
	err = s.reader.Each(ctx, func(row tables.Row) error {
		var line stock.AuditLine
		err := row.Scan(line.Columns()...)
		audit.Add(line)
		return err
	}, auditSQL, first, last)
	if err == nil && sku != "" && audit.SKUs == nil {
		err = stock.UnknownSKU(sku)
	}
	return audit, err
}
