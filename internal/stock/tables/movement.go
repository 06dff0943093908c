package tables

import (
	"context"
	"encoding/json"
	"time"

	"inventory/internal/stock"
)

const movementColumns = `sku_id, ref, kind, quantity, coalesce(segments, 0), coalesce(terms, '{}'), reason, created_at`

// What reads and writes movements.
const (
	SelectMovement  = `SELECT ` + movementColumns + ` FROM movements WHERE sku_id = $1 AND ref = $2`
	SelectMovements = `
SELECT ` + movementColumns + `
FROM movements WHERE sku_id = $1 AND (created_at, ref) > ($2, $3)
ORDER BY created_at, ref LIMIT $4`

	// The rows of all segments are locked, so the movements of a SKU are written one after another, each with a later time.
	InsertMovement = `
INSERT INTO movements (sku_id, ref, kind, quantity, segments, terms, reason, created_at)
SELECT $1, $2, $3, $4, nullif($5::integer, 0), nullif($6, '{}'), $7,
       coalesce((SELECT greatest(at, max(created_at) + interval '1 microsecond') FROM movements WHERE sku_id = $1), at)
FROM (SELECT coalesce($8::timestamptz, clock_timestamp()) AS at) AS decided
WHERE EXISTS (SELECT 1 FROM skus WHERE sku_id = $1)
ON CONFLICT (sku_id, ref) DO NOTHING`

	// Rows that stay keep their fences. See [stock.MovementPlan].
	LayOut = `
INSERT INTO stock_segments (sku_id, segment, available, reserved, fence, version, layout)
SELECT $1, n - 1, units, r, $4, $5, $6 FROM unnest($2::bigint[], $3::bigint[]) WITH ORDINALITY AS spread (units, r, n)
ORDER BY n
ON CONFLICT (sku_id, segment) DO UPDATE
    SET available = excluded.available, reserved = excluded.reserved, version = excluded.version, layout = excluded.layout`

	DeleteBeyond = `DELETE FROM stock_segments WHERE sku_id = $1 AND segment >= $2`

	SetLayout = `UPDATE skus SET layout = $2 WHERE sku_id = $1`
)

// Move implements [stock.Store]. It locks the rows of all segments before it writes, and leaves their fences as they are. If it
// changes the layout, every row gets the new one. So a transaction that has waited for a row notices it, even if its snapshot
// does not show the new rows.
func (b Base) Move(ctx context.Context, m stock.Movement) (created bool, err error) {
	terms, err := json.Marshal(m.Terms)
	if err != nil {
		return false, err
	}
	err = b.InTx(ctx, time.Time{}, func(tx Tx) error {
		statements, write, back := &Statements{}, &Statements{}, &Returned{}
		all := statements.LockAll(m.SKU)
		if m.NeedsExpired() {
			back = tx.Expire(statements, m.SKU, m.At)
		}
		insert := statements.Exec(InsertMovement, m.SKU, m.Ref, string(m.Kind), m.Quantity, m.Segments, string(terms), m.Reason, At(m.At))
		insert.Wrote = wrote(&created)
		if err := tx.Send(ctx, statements); err != nil {
			return err
		}
		if !created && len(*all) > 0 {
			err = sameMovement(ctx, tx, m)
		} else {
			err = move(ctx, tx, write, m, *all, stock.LevelsOf(*all, back.Segments))
		}
		if err != nil {
			return err
		}
		if back.Reservations > 0 || (created && m.Quantity > 0) {
			tx.Notify(write, m.SKU)
		}
		return tx.Send(ctx, write)
	})
	return created && err == nil, err
}

// move plans a movement and writes the plan.
func move(ctx context.Context, tx Tx, write *Statements, m stock.Movement, all []stock.Segment, levels []int64) error {
	plan, err := stock.PlanMovement(m, all, levels)
	if err != nil {
		return err
	}
	var moved Changes
	for segment, units := range plan.Changes {
		moved.Add(segment, units, 0, stock.Fence{})
	}
	write.Change(m.SKU, moved)
	if plan.Rows != nil {
		units := stock.Column(plan.Rows, func(row stock.Segment) int64 { return row.Available })
		reserved := stock.Column(plan.Rows, func(row stock.Segment) int64 { return row.Reserved })
		first := plan.Rows[0]
		write.Exec(DeleteBeyond, m.SKU, len(plan.Rows))
		write.Exec(LayOut, m.SKU, units, reserved, first.Fence.Token, first.Version, first.Layout)
		write.Exec(SetLayout, m.SKU, first.Layout)
	}
	if m.Kind == stock.Retermed {
		return changeTerms(ctx, tx, write, m)
	}
	return nil
}

// sameMovement compares a movement with the one that has its ref already.
func sameMovement(ctx context.Context, q Querier, m stock.Movement) error {
	there, err := All(ctx, q, movement, SelectMovement, m.SKU, m.Ref)
	switch {
	case err != nil:
		return err
	case there == nil:
		return ErrNoRow
	default:
		return m.CheckReplay(there[0])
	}
}

// Movements implements [stock.Store].
func (b Base) Movements(ctx context.Context, sku string, after stock.Position, limit int) ([]stock.Movement, error) {
	found, err := All(ctx, b.DB, movement, SelectMovements, sku, after.At, after.Ref, limit)
	if err == nil && found == nil {
		err = SKUExists(ctx, b.DB, sku)
	}
	return found, err
}

func movement(row Row) (m stock.Movement, err error) {
	var terms []byte
	if err = row.Scan(&m.SKU, &m.Ref, &m.Kind, &m.Quantity, &m.Segments, &terms, &m.Reason, (*Time)(&m.At)); err == nil {
		err = json.Unmarshal(terms, &m.Terms)
	}
	return m, err
}
