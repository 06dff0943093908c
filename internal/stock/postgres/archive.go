package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"inventory/internal/stock"
)

const archiveSegments = `UPDATE stock_segments SET layout = $2, version = version + 1 WHERE sku_id = $1`

const archiveSKU = `UPDATE skus SET archived_at = coalesce($2::timestamptz, clock_timestamp()) WHERE sku_id = $1`

// Archive implements [stock.Store]. Other processes are told, so that they forget that the SKU has sold out.
func (s *Store) Archive(ctx context.Context, sku string, at time.Time) (archived bool, err error) {
	err = s.inTx(ctx, time.Time{}, func(tx transaction) error {
		lock := &pgx.Batch{}
		all := queueLockAll(lock, sku)
		if err := tx.send(ctx, lock); err != nil {
			return err
		}
		if len(*all) == 0 {
			return stock.UnknownSKU(sku)
		}
		if archived = (*all)[0].Layout != stock.ArchivedLayout; !archived {
			return nil
		}
		write := &pgx.Batch{}
		write.Queue(archiveSegments, sku, stock.ArchivedLayout)
		write.Queue(archiveSKU, sku, instant(at))
		write.Queue(notify, sku)
		return tx.send(ctx, write)
	})
	return archived && err == nil, err
}
