package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"inventory/internal/stock"
)

const insertRestock = `
INSERT INTO movements (sku_id, ref, kind, quantity, reason, created_at) VALUES ($1, $2, 'restock', $3, $4, $5)
ON CONFLICT (sku_id, ref) DO NOTHING`

const addToSegments = `
UPDATE stock_segments g SET available = g.available + spread.units, version = g.version + 1
FROM unnest($2::bigint[]) WITH ORDINALITY AS spread (units, n)
WHERE g.sku_id = $1 AND g.segment = spread.n - 1 AND spread.units > 0`

// Restock implements [stock.Store]. It writes without a lock, so it leaves the fences as they are.
func (s *Store) Restock(ctx context.Context, restock stock.Restock) (created bool, err error) {
	err = s.inTx(ctx, func(tx pgx.Tx) error {
		segments, err := lockAll(ctx, tx, restock.SKU, nil)
		if err != nil {
			return err
		}
		tag, err := tx.Exec(ctx, insertRestock, restock.SKU, restock.Ref, restock.Quantity, restock.Reason, restock.At)
		if err != nil {
			return err
		}
		if created = tag.RowsAffected() == 1; !created {
			return sameRestock(ctx, tx, restock)
		}
		if _, err = tx.Exec(ctx, addToSegments, restock.SKU, stock.Spread(restock.Quantity, len(segments))); err != nil {
			return err
		}
		_, err = tx.Exec(ctx, notify, restock.SKU) // it goes out with the commit
		return err
	})
	return created, err
}

func sameRestock(ctx context.Context, tx pgx.Tx, restock stock.Restock) error {
	there := stock.Restock{SKU: restock.SKU, Ref: restock.Ref, At: restock.At}
	var kind string
	err := tx.QueryRow(ctx, `SELECT kind, quantity, reason FROM movements WHERE sku_id = $1 AND ref = $2`,
		restock.SKU, restock.Ref).Scan(&kind, &there.Quantity, &there.Reason)
	if err == nil && (kind != "restock" || there != restock) {
		return stock.RefReused(restock.Ref)
	}
	return err
}
