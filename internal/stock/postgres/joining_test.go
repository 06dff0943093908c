package postgres_test

import (
	"context"

	"inventory/internal/stock"
	"inventory/internal/stock/postgres"
)

// joining is a store whose Deduct joins a shared write if it can, as sellers have batches written.
type joining struct{ *postgres.Store }

// Deduct implements [stock.Store].
func (s joining) Deduct(ctx context.Context, batch stock.Batch) (stock.BatchResult, error) {
	return stock.WriteBatch(ctx, s.Store, batch)
}
