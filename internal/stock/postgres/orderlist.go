package postgres

import (
	"context"
	"fmt"

	"inventory/internal/stock/tables"
)

// ListOrders implements [stock.Store]. Each index is built beside orders, so not in a transaction. One that was not built to its end is dropped
// first.
func (s *Store) ListOrders(ctx context.Context, on bool) error {
	listed, err := s.OrdersListed(ctx)
	if listed && on || err != nil {
		return err
	}
	statements := []string{"unlist_by_time", "unlist_by_buyer"}
	if on {
		statements = append(statements, "list_by_time", "list_by_buyer")
	}
	for _, name := range statements {
		if err := s.DB.Each(ctx, func(tables.Row) error { return nil }, name); err != nil {
			return fmt.Errorf("change the indexes of orders: %w", err)
		}
	}
	return nil
}
