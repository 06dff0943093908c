package postgres

import (
	"context"
	_ "embed"
	"strings"
	"time"

	"inventory/internal/stock"
	"inventory/internal/stock/tables"
)

//go:embed prune.sql
var pruneFile string

// ended finds the deduction id of line.sku if it may go: nothing has happened to it since $3, and its SKU is archived.
const ended = `
            SELECT FROM (SELECT * FROM deductions WHERE sku_id = line.sku AND order_id = id OFFSET 0) AS d
            WHERE d.status <> 'reserved' AND greatest(d.created_at, d.expires_at) < $3
              AND EXISTS (SELECT FROM skus k WHERE k.sku_id = line.sku AND k.archived_at IS NOT NULL)
              AND NOT EXISTS (SELECT FROM amendments a WHERE a.sku_id = line.sku AND a.order_id = id AND a.created_at >= $3)`

var pruneSQL = strings.Replace(pruneFile, "{ended}", ended, 1)

// $2 means nothing, but all processes must have the same: one prunes at a time, so none waits for another's rows.
const lockToPrune = `
WITH mine AS (SELECT FROM stock_segments WHERE sku_id = $1 ORDER BY segment FOR UPDATE SKIP LOCKED)
SELECT pg_try_advisory_xact_lock($2) AND (SELECT count(*) FROM mine) = (SELECT count(*) FROM stock_segments WHERE sku_id = $1)`

const pruneLock = 7325064182

var selectEnded = `
SELECT id FROM (SELECT $1 AS sku) AS line, unnest($2::text[]) AS asked (id) WHERE EXISTS (` + ended + `)`

// Ended returns those of the order ids whose deduction of a SKU may go.
func (s *Store) Ended(ctx context.Context, sku string, orderIDs []string, before time.Time) ([]string, error) {
	return tables.All(ctx, s.pool, tables.Value[string], selectEnded, sku, orderIDs, before)
}

// Prune implements [stock.Store]. It waits for no row. What it decides by is read once the rows are locked.
func (s *Store) Prune(ctx context.Context, p stock.Pruning) (pruned stock.Pruned, err error) {
	err = s.inTx(ctx, time.Time{}, func(tx transaction) error {
		var free bool
		if err := tables.Single(ctx, tx, []any{&free}, lockToPrune, p.SKU, pruneLock); err != nil {
			return err
		}
		if pruned = (stock.Pruned{Busy: !free}); !free {
			return nil
		}
		return tables.Single(ctx, tx, []any{&pruned.Deductions, &pruned.Units}, pruneSQL, p.SKU, p.OrderIDs, p.Before, p.DryRun)
	})
	return pruned, err
}
