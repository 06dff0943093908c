package postgres

import (
	"context"
	"maps"
	"slices"
	"time"

	"inventory/internal/stock"
	"inventory/internal/stock/tables"
)

// ExpireFree implements [stock.Store]. Many SKUs share a transaction. Of each it ends as many reservations as leave room for the others: a
// transaction that holds the rows of many SKUs stops their sales.
func (s *Store) ExpireFree(ctx context.Context, at time.Time, skus ...string) (map[string]int, error) {
	reservations := make(map[string]int, len(skus))
	err := s.inTx(ctx, time.Time{}, func(tx transaction) error {
		clear(reservations)
		locked, err := tables.All(ctx, tx, tables.Value[string], "lock_free_skus", skus)
		if err != nil || len(locked) == 0 {
			return err
		}
		each := max(1, stock.ExpireLimit/len(locked))
		err = tx.Each(ctx, tables.Into(reservations), "expire_free", locked, instant(at), each, tx.Swept().Until(at))
		if err != nil {
			return err
		}
		told := &tables.Statements{}
		for _, sku := range slices.Sorted(maps.Keys(reservations)) {
			tx.Notify(told, sku)
		}
		return tx.Send(ctx, told)
	})
	return reservations, err
}
