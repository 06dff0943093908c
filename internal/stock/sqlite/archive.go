package sqlite

import (
	"context"
	"time"

	"inventory/internal/stock"
)

const archiveSegments = `UPDATE stock_segments SET layout = $2, version = version + 1 WHERE sku_id = $1`

const archiveSKU = `UPDATE skus SET archived_at = $2 WHERE sku_id = $1`

// Archive implements [stock.Store].
func (s *Store) Archive(ctx context.Context, sku string, at time.Time) (archived bool, err error) {
	err = s.inTx(ctx, time.Time{}, func(tx *transaction) error {
		segments, err := readSegments(ctx, tx, sku)
		if err != nil {
			return err
		}
		if archived = segments[0].Layout != stock.ArchivedLayout; !archived {
			return nil
		}
		if _, err := tx.ExecContext(ctx, archiveSegments, sku, stock.ArchivedLayout); err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, archiveSKU, sku, micros(now(at)))
		return err
	})
	return archived && err == nil, err
}
