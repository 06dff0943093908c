package tables

import (
	"context"
	_ "embed"

	"inventory/internal/stock"
)

// AuditSQL is for [Base.Audit].
//
//go:embed audit.sql
var AuditSQL string

// aboveSKUs is above every SKU: no character of one is.
const aboveSKUs = "~"

// Audit implements [stock.Store]. One statement reads one snapshot.
func (b Base) Audit(ctx context.Context, sku string) (audit stock.Audit, err error) {
	first, last := sku, sku
	if sku == "" {
		last = aboveSKUs
	}
	err = b.DB.Each(ctx, func(row Row) error {
		var line stock.AuditLine
		err := row.Scan(line.Columns()...)
		audit.Add(line)
		return err
	}, AuditSQL, first, last)
	if err == nil && sku != "" && audit.SKUs == nil {
		err = stock.UnknownSKU(sku)
	}
	return audit, err
}
