package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"inventory/internal/stock"
)

// The rows of all segments are locked, so movements of a SKU come one after another, and each is later than the last.
const insertMovement = `
INSERT INTO movements (sku_id, ref, kind, quantity, segments, reason, created_at)
SELECT $1, $2, $3, $4, nullif($5::integer, 0), $6,
       greatest(coalesce($7::timestamptz, clock_timestamp()), (SELECT max(created_at) + interval '1 microsecond' FROM movements WHERE sku_id = $1))
WHERE EXISTS (SELECT FROM skus WHERE sku_id = $1)
ON CONFLICT (sku_id, ref) DO NOTHING`

const movementColumns = `sku_id, ref, kind, quantity, coalesce(segments, 0), reason, created_at`

const selectMovement = `SELECT ` + movementColumns + ` FROM movements WHERE sku_id = $1 AND ref = $2`

const selectMovements = `
SELECT ` + movementColumns + `
FROM movements WHERE sku_id = $1 AND (created_at, ref) > ($2, $3)
ORDER BY created_at, ref LIMIT $4`

// change writes what a movement does to the segments, which are locked and hold levels by now.
type change func(write *pgx.Batch, all []segmentRow, levels []int64) error

// move writes a ledger row and a change, under the locks of all segments. It reports false if this very movement was
// there already. What takes away or spreads units has those of expired reservations back first.
func (s *Store) move(ctx context.Context, m stock.Movement, do change) (created bool, err error) {
	err = s.inTx(ctx, time.Time{}, func(tx pgx.Tx) error {
		trip, back := &pgx.Batch{}, &returned{}
		all := queueLockAll(trip, m.SKU)
		if m.Quantity <= 0 {
			back = queueExpire(trip, m.SKU, m.At)
		}
		rows := queueMovement(trip, m)
		if err := tx.SendBatch(ctx, trip).Close(); err != nil {
			return err
		}
		if len(*all) == 0 {
			return stock.UnknownSKU(m.SKU)
		}
		write := &pgx.Batch{}
		if created = *rows == 1; created {
			if err := do(write, *all, levelsOf(*all, back)); err != nil {
				return err
			}
		} else if err := sameMovement(ctx, tx, m); err != nil {
			return err
		}
		if back.reservations > 0 || (created && m.Quantity > 0) {
			write.Queue(notify, m.SKU) // it goes out with the commit
		}
		return tx.SendBatch(ctx, write).Close()
	})
	return created && err == nil, err
}

func queueMovement(trip *pgx.Batch, m stock.Movement) (rows *int64) {
	rows = new(int64)
	trip.Queue(insertMovement, m.SKU, m.Ref, m.Kind, m.Quantity, m.Segments, m.Reason, instant(m.At)).Exec(countRows(rows))
	return rows
}

func sameMovement(ctx context.Context, tx pgx.Tx, m stock.Movement) error {
	rows, err := tx.Query(ctx, selectMovement, m.SKU, m.Ref)
	if err != nil {
		return err
	}
	there, err := pgx.CollectExactlyOneRow(rows, readMovement)
	if err == nil && !there.Same(m) {
		return stock.RefReused(m.Ref)
	}
	return err
}

// Restock implements [stock.Store]. It writes without a lock, so it leaves the fences as they are.
func (s *Store) Restock(ctx context.Context, restock stock.Movement) (created bool, err error) {
	return s.move(ctx, restock, add(restock))
}

// Adjust implements [stock.Store].
func (s *Store) Adjust(ctx context.Context, adjust stock.Movement) (created bool, err error) {
	if adjust.Quantity > 0 {
		return s.move(ctx, adjust, add(adjust))
	}
	return s.move(ctx, adjust, func(write *pgx.Batch, _ []segmentRow, levels []int64) error {
		changes, ok := stock.TakeAway(levels, -adjust.Quantity)
		if !ok {
			return stock.TooFew(adjust.SKU, levels)
		}
		queueChanges(write, adjust.SKU, changes, nil, nil)
		return nil
	})
}

// add spreads the units of a movement over the segments.
func add(m stock.Movement) change {
	return func(write *pgx.Batch, all []segmentRow, _ []int64) error {
		queueChanges(write, m.SKU, stock.Spread(m.Quantity, len(all)), nil, nil)
		return nil
	}
}

// Movements implements [stock.Store].
func (s *Store) Movements(ctx context.Context, sku string, after stock.Position, limit int) ([]stock.Movement, error) {
	rows, err := s.pool.Query(ctx, selectMovements, sku, after.At, after.Ref, limit)
	if err != nil {
		return nil, err
	}
	movements, err := pgx.CollectRows(rows, readMovement)
	if err == nil && len(movements) == 0 {
		err = skuExists(ctx, s.pool, sku)
	}
	return movements, err
}

func readMovement(row pgx.CollectableRow) (m stock.Movement, err error) {
	err = row.Scan(&m.SKU, &m.Ref, &m.Kind, &m.Quantity, &m.Segments, &m.Reason, &m.At)
	m.At = m.At.UTC()
	return m, err
}
