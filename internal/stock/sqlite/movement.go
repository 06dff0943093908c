package sqlite

import (
	"context"
	"database/sql"
	"time"

	"inventory/internal/stock"
)

// Restock implements [stock.Store].
func (s *Store) Restock(ctx context.Context, restock stock.Movement) (created bool, err error) {
	restock.Kind = stock.Restocked
	return s.move(ctx, restock, func(tx *transaction, _ []segmentRow, levels []int64) error {
		return s.changeAll(ctx, tx, restock.SKU, stock.Spread(restock.Quantity, len(levels)), nil, nil)
	})
}

// Adjust implements [stock.Store].
func (s *Store) Adjust(ctx context.Context, adjust stock.Movement) (created bool, err error) {
	adjust.Kind = stock.Adjusted
	return s.move(ctx, adjust, func(tx *transaction, _ []segmentRow, levels []int64) error {
		if adjust.Quantity > 0 {
			return s.changeAll(ctx, tx, adjust.SKU, stock.Spread(adjust.Quantity, len(levels)), nil, nil)
		}
		changes, ok := stock.TakeAway(levels, -adjust.Quantity)
		if !ok {
			return stock.TooFew(adjust.SKU, levels)
		}
		return s.changeAll(ctx, tx, adjust.SKU, changes, nil, nil)
	})
}

// Its time is above that of the SKU's last, whatever the clock says.
const insertMovement = `
INSERT INTO movements (sku_id, ref, kind, quantity, segments, reason, created_at)
VALUES ($1, $2, $3, $4, nullif($5, 0), $6, max($7, coalesce((SELECT max(created_at) + 1 FROM movements WHERE sku_id = $1), $7)))
ON CONFLICT (sku_id, ref) DO NOTHING`

// carryOut does what a movement says to the segments, which hold levels by now.
type carryOut func(tx *transaction, segments []segmentRow, levels []int64) error

// move writes a movement into the ledger, and has it carried out if it was not there. What takes away or spreads units has
// those of expired reservations back first. It is done without a lock, so it leaves the fences as they are.
func (s *Store) move(ctx context.Context, m stock.Movement, do carryOut) (created bool, err error) {
	err = s.inTx(ctx, time.Time{}, func(tx *transaction) error {
		m.At = now(m.At)
		segments, err := readSegments(ctx, tx, m.SKU)
		if err != nil {
			return err
		}
		created, err = changed(tx.ExecContext(ctx, insertMovement,
			m.SKU, m.Ref, string(m.Kind), m.Quantity, m.Segments, m.Reason, micros(m.At)))
		if err != nil {
			return err
		}
		if !created {
			return sameMovement(ctx, tx, m)
		}
		levels := levelsOf(segments)
		if m.Quantity <= 0 {
			if _, err := s.expire(ctx, tx, m.SKU, m.At, levels); err != nil {
				return err
			}
		}
		return do(tx, segments, levels)
	})
	return created && err == nil, err
}

const selectMovement = `
SELECT ref, kind, quantity, coalesce(segments, 0), reason, created_at FROM movements WHERE sku_id = $1 AND ref = $2`

func sameMovement(ctx context.Context, tx *transaction, m stock.Movement) error {
	there, err := readMovements(ctx, tx, m.SKU, selectMovement, m.SKU, m.Ref)
	if err == nil && !m.Same(there[0]) {
		return stock.RefReused(m.Ref)
	}
	return err
}

const selectMovements = `
SELECT ref, kind, quantity, coalesce(segments, 0), reason, created_at FROM movements
WHERE sku_id = $1 AND (created_at, ref) > ($2, $3) ORDER BY created_at, ref LIMIT $4`

// Movements implements [stock.Store].
func (s *Store) Movements(ctx context.Context, sku string, after stock.Position, limit int) ([]stock.Movement, error) {
	found, err := readMovements(ctx, s.reader, sku, selectMovements, sku, micros(after.At), after.Ref, limit)
	if err == nil && found == nil {
		err = exists(ctx, s.reader, sku)
	}
	return found, err
}

func readMovements(ctx context.Context, q querier, sku, query string, args ...any) (found []stock.Movement, err error) {
	err = eachRow(ctx, q, func(rows *sql.Rows) error {
		m := stock.Movement{SKU: sku}
		var at int64
		err := rows.Scan(&m.Ref, &m.Kind, &m.Quantity, &m.Segments, &m.Reason, &at)
		m.At = timeOf(at)
		found = append(found, m)
		return err
	}, query, args...)
	return found, err
}
