package sqlite

import (
	"context"
	"database/sql"

	"inventory/internal/stock"
)

const insertRestock = `
INSERT INTO movements (sku_id, ref, kind, quantity, reason, created_at) VALUES ($1, $2, 'restock', $3, $4, $5)
ON CONFLICT DO NOTHING`

// Restock implements [stock.Store]. It writes without a lock, so it leaves the fences as they are.
func (s *Store) Restock(ctx context.Context, restock stock.Restock) (created bool, err error) {
	err = s.inTx(ctx, func(tx *sql.Tx) error {
		segments, err := readSegments(ctx, tx, restock.SKU, nil)
		if err != nil {
			return err
		}
		created, err = changed(tx.ExecContext(ctx, insertRestock,
			restock.SKU, restock.Ref, restock.Quantity, restock.Reason, micros(restock.At)))
		if err != nil {
			return err
		}
		if !created {
			return sameRestock(ctx, tx, restock)
		}
		return applyChanges(ctx, tx, stock.Merge{SKU: restock.SKU}, stock.Spread(restock.Quantity, len(segments)))
	})
	return created, err
}

func sameRestock(ctx context.Context, tx *sql.Tx, restock stock.Restock) error {
	there := stock.Restock{SKU: restock.SKU, Ref: restock.Ref, At: restock.At}
	var kind string
	err := tx.QueryRowContext(ctx, `SELECT kind, quantity, reason FROM movements WHERE sku_id = $1 AND ref = $2`,
		restock.SKU, restock.Ref).Scan(&kind, &there.Quantity, &there.Reason)
	if err == nil && (kind != "restock" || there != restock) {
		return stock.RefReused(restock.Ref)
	}
	return err
}

// Watch implements [stock.Store]. The file belongs to this process, which knows of its restocks by itself.
func (s *Store) Watch(context.Context, func(), func(string)) error { return nil }
