package postgres

import (
	"context"
	"time"

	"inventory/internal/stock"
	"inventory/internal/stock/tables"
)

// $2 means nothing, but must be the same in all processes: one prunes at a time, so none waits for another's rows.
const lockToPrune = `
WITH mine AS (SELECT FROM stock_segments WHERE sku_id = $1 ORDER BY segment FOR UPDATE SKIP LOCKED)
SELECT pg_try_advisory_xact_lock($2) AND (SELECT count(*) FROM mine) = (SELECT count(*) FROM stock_segments WHERE sku_id = $1)`

const pruneLock int64 = 7325064182

const selectEnded = `
SELECT asked.id FROM (SELECT $1 AS sku) AS line, unnest($2::text[]) AS asked (id) WHERE EXISTS (` + tables.Ended + `)`

// Ended returns the order ids whose deductions of a SKU may be pruned.
func (s *Store) Ended(ctx context.Context, sku string, orderIDs []string, before time.Time) ([]string, error) {
	return tables.All(ctx, s.pool, tables.Value[string], selectEnded, sku, orderIDs, before)
}

// Prune implements [stock.Store]. It waits for no row. It reads what it decides from once the rows are locked.
func (s *Store) Prune(ctx context.Context, p stock.Pruning) (pruned stock.Pruned, err error) {
	err = s.inTx(ctx, time.Time{}, func(tx transaction) error {
		var free bool
		if err := tables.Single(ctx, tx, []any{&free}, lockToPrune, p.SKU, pruneLock); err != nil {
			return err
		}
		if pruned = (stock.Pruned{Busy: !free}); !free {
			return nil
		}
		pruned, err = tables.Prune(ctx, tx, p)
		return err
	})
	return pruned, err
}
