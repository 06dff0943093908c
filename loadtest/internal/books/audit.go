package books

import (
	"context"
	"errors"

	"inventory/internal/app"
	"inventory/internal/stock"
)

// Audit recomputes a database from its rows.
func Audit(ctx context.Context, databaseURL string) (audit stock.Audit, err error) {
	store, err := app.OpenForReading(ctx, databaseURL)
	if err != nil {
		return stock.Audit{}, err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	return store.Audit(ctx, "")
}
