package sqlite

import (
	"context"
	"time"

	"inventory/internal/stock/tables"
)

// ListOrders implements [stock.Store].
func (s *Store) ListOrders(ctx context.Context, on bool) error {
	return s.InTx(ctx, time.Time{}, func(tx tables.Tx) error {
		statements := &tables.Statements{}
		if on {
			statements.Exec("list_by_time")
			statements.Exec("list_by_buyer")
		} else {
			statements.Exec("unlist_by_time")
			statements.Exec("unlist_by_buyer")
		}
		return tx.Send(ctx, statements)
	})
}
