package postgres

import (
	"context"
	_ "embed"
	"time"

	"github.com/jackc/pgx/v5"

	"inventory/internal/stock"
)

//go:embed prune.sql
var pruneSQL string

// $2 means nothing, but all processes must have the same: one prunes at a time, so none waits for another's rows.
const lockToPrune = `
WITH mine AS (SELECT FROM stock_segments WHERE sku_id = $1 ORDER BY segment FOR UPDATE SKIP LOCKED)
SELECT pg_try_advisory_xact_lock($2) AND (SELECT count(*) FROM mine) = (SELECT count(*) FROM stock_segments WHERE sku_id = $1)`

const pruneLock = 7325064182

// Prune implements [stock.Store]. It waits for no row. What it decides by is read once the rows are locked.
func (s *Store) Prune(ctx context.Context, p stock.Pruning) (pruned stock.Pruned, err error) {
	err = s.inTx(ctx, time.Time{}, func(tx pgx.Tx) error {
		var free bool
		if err := tx.QueryRow(ctx, lockToPrune, p.SKU, pruneLock).Scan(&free); err != nil {
			return err
		}
		if pruned = (stock.Pruned{Busy: !free}); !free {
			return nil
		}
		return tx.QueryRow(ctx, pruneSQL, p.SKU, p.OrderIDs, p.Before, p.DryRun).Scan(&pruned.Deductions, &pruned.Units)
	})
	return pruned, err
}
