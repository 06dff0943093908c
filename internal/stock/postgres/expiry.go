package postgres

import (
	"context"
	"time"

	"inventory/internal/stock"
	"inventory/internal/stock/tables"
)

// ExpireFree implements [stock.Store]. Many SKUs share a transaction. Of each it ends as many reservations as leave room for the others: a
// transaction that holds the rows of many SKUs delays their sales. Only those rows are locked to which units come back. Transactions that
// notify commit one after another, so none does for a SKU that had units: nobody takes it for sold out.
func (s *Store) ExpireFree(ctx context.Context, at time.Time, skus ...string) (map[string]stock.Ended, error) {
	ended, each := make(map[string]stock.Ended, len(skus)), max(1, stock.ExpireLimit/max(1, len(skus)))
	err := s.inTx(ctx, time.Time{}, func(tx transaction) error {
		clear(ended)
		var held, empty []string
		var segments []int32
		err := tx.Each(ctx, func(row tables.Row) error {
			var sku string
			var segment int32
			err := row.Scan(&sku, &segment)
			held, segments = append(held, sku), append(segments, segment)
			return err
		}, "lock_rows_of_expired", skus, instant(at), each, tx.Swept().Until(at))
		if err != nil || held == nil {
			return err
		}
		err = tx.Each(ctx, func(row tables.Row) error {
			var sku string
			var one stock.Ended
			err := row.Scan(&sku, &one.Reservations, &one.WasEmpty)
			if ended[sku] = one; one.WasEmpty {
				empty = append(empty, sku)
			}
			return err
		}, "expire_free", held, segments, instant(at), each, tx.Swept().Until(at))
		if err != nil || empty == nil {
			return err
		}
		told := &tables.Statements{}
		told.Exec("notify_all", empty)
		return tx.Send(ctx, told)
	})
	if err != nil {
		return nil, err
	}
	return ended, nil
}
