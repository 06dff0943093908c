package sqlite

import (
	"context"
	"time"

	"inventory/internal/stock"
	"inventory/internal/stock/tables"
)

// Prune implements [stock.Store].
func (s *Store) Prune(ctx context.Context, p stock.Pruning) (pruned stock.Pruned, err error) {
	err = s.inTx(ctx, time.Time{}, func(tx *transaction) error {
		pruned, err = tables.Prune(ctx, tx, p)
		return err
	})
	if busy(err) {
		return stock.Pruned{Busy: true}, nil
	}
	return pruned, err
}
