package sqlite

import (
	"context"
	"encoding/json"
	"time"

	"inventory/internal/stock"
	"inventory/internal/stock/tables"
)

// Its time is above that of the SKU's last, whatever the clock says.
const insertMovement = `
INSERT INTO movements (sku_id, ref, kind, quantity, segments, terms, reason, created_at)
VALUES ($1, $2, $3, $4, nullif($5, 0), nullif($6, '{}'), $7,
        max($8, coalesce((SELECT max(created_at) + 1 FROM movements WHERE sku_id = $1), $8)))
ON CONFLICT (sku_id, ref) DO NOTHING`

// A segment that is there keeps its fence. See [stock.MovementPlan].
const putSegment = `
INSERT INTO stock_segments (sku_id, segment, available, reserved, version, layout, fence) VALUES ($1, $2, $3, $4, $5, $6, $7)
ON CONFLICT (sku_id, segment) DO UPDATE
SET available = excluded.available, reserved = excluded.reserved, version = excluded.version, layout = excluded.layout`

const deleteSegments = `DELETE FROM stock_segments WHERE sku_id = $1 AND segment >= $2`

const updateLayout = `UPDATE skus SET layout = $2 WHERE sku_id = $1`

// Move implements [stock.Store]. It is done without a lock, so it leaves the fences as they are.
func (s *Store) Move(ctx context.Context, m stock.Movement) (created bool, err error) {
	err = s.inTx(ctx, time.Time{}, func(tx *transaction) error {
		m.At = now(m.At)
		segments, err := readSegments(ctx, tx, m.SKU)
		if err != nil {
			return err
		}
		terms, err := json.Marshal(m.Terms)
		if err != nil {
			return err
		}
		created, err = changed(tx.ExecContext(ctx, insertMovement,
			m.SKU, m.Ref, string(m.Kind), m.Quantity, m.Segments, string(terms), m.Reason, micros(m.At)))
		if err != nil {
			return err
		}
		if !created {
			return tables.SameMovement(ctx, tx, m)
		}
		var back map[int]int64
		if m.NeedsExpired() {
			if _, back, err = s.expire(ctx, tx, m.SKU, m.At, len(segments)); err != nil {
				return err
			}
		}
		plan, err := stock.PlanMovement(m, segments, stock.LevelsOf(segments, back))
		if err != nil {
			return err
		}
		if m.Kind == stock.Retermed {
			if err := changeTerms(ctx, tx, m); err != nil {
				return err
			}
		}
		if plan.Rows != nil {
			return layOut(ctx, tx, m.SKU, plan.Rows)
		}
		return s.changeAll(ctx, tx, m.SKU, plan.Changes, nil, nil)
	})
	return created && err == nil, err
}

// layOut puts new segments in the place of all.
func layOut(ctx context.Context, tx *transaction, sku string, rows []stock.Segment) error {
	for segment, row := range rows {
		_, err := tx.ExecContext(ctx, putSegment,
			sku, segment, row.Available, row.Reserved, row.Version, row.Layout, row.Fence.Token)
		if err != nil {
			return err
		}
	}
	if _, err := tx.ExecContext(ctx, deleteSegments, sku, len(rows)); err != nil {
		return err
	}
	_, err := tx.ExecContext(ctx, updateLayout, sku, rows[0].Layout)
	return err
}

// Movements implements [stock.Store].
func (s *Store) Movements(ctx context.Context, sku string, after stock.Position, limit int) ([]stock.Movement, error) {
	return tables.Movements(ctx, s.reader, sku, micros(after.At), after.Ref, limit)
}
