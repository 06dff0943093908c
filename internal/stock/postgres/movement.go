package postgres

import (
	"context"
	"encoding/json"
	"time"

	"github.com/jackc/pgx/v5"

	"inventory/internal/stock"
	"inventory/internal/stock/tables"
)

// The rows of all segments are locked, so the movements of a SKU come one after another. Each is later than the last.
const insertMovement = `
INSERT INTO movements (sku_id, ref, kind, quantity, segments, terms, reason, created_at)
SELECT $1, $2, $3, $4, nullif($5::integer, 0), nullif($6, '{}'), $7,
       greatest(coalesce($8::timestamptz, clock_timestamp()), (SELECT max(created_at) + interval '1 microsecond' FROM movements WHERE sku_id = $1))
WHERE EXISTS (SELECT FROM skus WHERE sku_id = $1)
ON CONFLICT (sku_id, ref) DO NOTHING`

// Rows that stay keep their fences. See [stock.MovementPlan].
const layOut = `
INSERT INTO stock_segments AS g (sku_id, segment, available, reserved, fence, version, layout)
SELECT $1, n - 1, units, r, $4, $5, $6 FROM unnest($2::bigint[], $3::bigint[]) WITH ORDINALITY AS spread (units, r, n)
ORDER BY n
ON CONFLICT (sku_id, segment) DO UPDATE
    SET available = excluded.available, reserved = excluded.reserved, version = excluded.version, layout = excluded.layout`

const deleteBeyond = `DELETE FROM stock_segments WHERE sku_id = $1 AND segment >= $2`

const setLayout = `UPDATE skus SET layout = $2 WHERE sku_id = $1`

// Move implements [stock.Store]. It locks all rows before it writes, and leaves their fences as they are. If it changes the
// layout, every row gets the new one. So a transaction that has waited for a row finds out, even if its snapshot does not
// show the new rows.
func (s *Store) Move(ctx context.Context, m stock.Movement) (created bool, err error) {
	err = s.inTx(ctx, time.Time{}, func(tx transaction) error {
		trip, back := &pgx.Batch{}, &returned{}
		all := queueLockAll(trip, m.SKU)
		if m.NeedsExpired() {
			back = queueExpire(trip, m.SKU, m.At)
		}
		rows, err := queueMovement(trip, m)
		if err != nil {
			return err
		}
		if err := tx.send(ctx, trip); err != nil {
			return err
		}
		write := &pgx.Batch{}
		if created = *rows == 1; created || len(*all) == 0 {
			plan, err := stock.PlanMovement(m, *all, stock.LevelsOf(*all, back.bySegment()))
			if err != nil {
				return err
			}
			queueMove(write, m.SKU, plan)
			if m.Kind == stock.Retermed {
				err = changeTerms(ctx, tx, write, m)
			}
			if err != nil {
				return err
			}
		} else if err := tables.SameMovement(ctx, tx, m); err != nil {
			return err
		}
		if back.reservations > 0 || (created && m.Quantity > 0) {
			write.Queue(notify, m.SKU) // it goes out with the commit
		}
		return tx.send(ctx, write)
	})
	return created && err == nil, err
}

func queueMove(write *pgx.Batch, sku string, plan stock.MovementPlan) {
	if plan.Rows == nil {
		var moved changes
		for segment, units := range plan.Changes {
			moved.add(segment, units, 0, stock.Fence{})
		}
		moved.queue(write, sku)
		return
	}
	units, reserved := make([]int64, len(plan.Rows)), make([]int64, len(plan.Rows))
	for i, row := range plan.Rows {
		units[i], reserved[i] = row.Available, row.Reserved
	}
	first := plan.Rows[0]
	write.Queue(deleteBeyond, sku, len(plan.Rows))
	write.Queue(layOut, sku, units, reserved, first.Fence.Token, first.Version, first.Layout)
	write.Queue(setLayout, sku, first.Layout)
}

func queueMovement(trip *pgx.Batch, m stock.Movement) (rows *int64, err error) {
	terms, err := json.Marshal(m.Terms)
	rows = new(int64)
	trip.Queue(insertMovement, m.SKU, m.Ref, m.Kind, m.Quantity, m.Segments, string(terms), m.Reason, instant(m.At)).Exec(countRows(rows))
	return rows, err
}

// Movements implements [stock.Store].
func (s *Store) Movements(ctx context.Context, sku string, after stock.Position, limit int) ([]stock.Movement, error) {
	return tables.Movements(ctx, s.pool, sku, after.At, after.Ref, limit)
}
