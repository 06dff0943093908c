package sqlite

import (
	"context"

	"inventory/internal/stock"
	"inventory/internal/stock/tables"
)

// Merge implements [stock.Store].
func (s *Store) Merge(ctx context.Context, merge stock.Merge) (stock.MergeResult, error) {
	return merge.Once(func(merge stock.Merge) (result stock.MergeResult, err error) {
		err = s.inShared(ctx, merge.Deadline, len(merge.Orders), func(tx *transaction) error {
			merge := merge
			merge.At = now(merge.At)
			result, err = tables.Merge(ctx, tx, merge)
			return err
		})
		return result, err
	})
}
