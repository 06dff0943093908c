package tables

import (
	"context"
	"encoding/json"
	"time"

	"inventory/internal/stock"
)

// Move implements [stock.Store]. It locks the rows of all segments before it writes, and leaves their fences as they are. If it
// changes the layout, every row gets the new one. So a transaction that has waited for a row notices it, even if its snapshot
// does not show the new rows.
func (b Base) Move(ctx context.Context, m stock.Movement) (created bool, err error) {
	terms, err := json.Marshal(m.Terms)
	if err != nil {
		return false, err
	}
	if m.Quantity <= 0 {
		return b.move(ctx, m, terms, LockInTheEnd)
	}
	err = UntilFree(func(how Locking) error {
		created, err = b.move(ctx, m, terms, how)
		return err
	})
	return created, err
}

// move adds a movement. Only one that adds units does so without all rows.
func (b Base) move(ctx context.Context, m stock.Movement, terms []byte, how Locking) (created bool, err error) {
	err = b.InTx(ctx, time.Time{}, func(tx Tx) error {
		statements, write := &Statements{}, &Statements{}
		all, expired := statements.Lock(ctx, tx, m.SKU, how), new(int)
		if m.NeedsExpired() {
			all, expired = statements.LockRefilled(tx, m.SKU, m.At)
		}
		statements.Exec("lock_sku", m.SKU) // others may write movements without a segment's row
		var stocked int64
		statements.Each(func(row Row) error { return row.Scan(&stocked) }, "stock_put", m.SKU)
		statements.insertMovement(m, terms).Wrote = wrote(&created)
		if err := tx.Send(ctx, statements); err != nil {
			return err
		}
		if !created && len(*all) > 0 {
			err = sameMovement(ctx, tx, m)
		} else {
			err = carryOut(ctx, tx, write, m, *all, stocked)
		}
		if err != nil {
			return err
		}
		if *expired > 0 || (created && m.Quantity > 0) {
			tx.Notify(write, m.SKU)
		}
		return tx.Send(ctx, write)
	})
	return created && err == nil, err
}

// insertMovement adds a row to the ledger, and adds it up, under the lock of the SKU's row.
func (s *Statements) insertMovement(m stock.Movement, terms []byte) *Statement {
	defer s.Exec("add_up_ledger", m.SKU)
	return s.Exec("insert_movement", m.SKU, m.Ref, string(m.Kind), m.Quantity, m.Segments, string(terms), m.Reason, At(m.At))
}

// carryOut plans a movement and writes the plan.
func carryOut(ctx context.Context, tx Tx, write *Statements, m stock.Movement, all []stock.Segment, stocked int64) error {
	plan, err := stock.PlanMovement(m, all, stocked)
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
		write.Exec("delete_beyond", m.SKU, len(plan.Rows))
		write.Exec("lay_out", m.SKU, units, reserved, first.Fence.Token, first.Version, first.Layout)
		write.Exec("set_layout", m.SKU, first.Layout)
	}
	if m.Kind == stock.Retermed {
		return changeTerms(ctx, tx, write, m)
	}
	return nil
}

// sameMovement compares a movement with the one that has its ref already.
func sameMovement(ctx context.Context, q Querier, m stock.Movement) error {
	there, err := All(ctx, q, movement, "movement", m.SKU, m.Ref)
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
	return b.movements(ctx, "movements", sku, after, limit)
}

// NewestMovements implements [stock.Store].
func (b Base) NewestMovements(ctx context.Context, sku string, before stock.Position, limit int) ([]stock.Movement, error) {
	if before.At.IsZero() {
		before.At = behindAll
	}
	return b.movements(ctx, "newest_movements", sku, before, limit)
}

// behindAll is later than every movement, and a time that both stores can compare.
var behindAll = time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)

func (b Base) movements(ctx context.Context, query, sku string, from stock.Position, limit int) ([]stock.Movement, error) {
	found, err := All(ctx, b.DB, movement, query, sku, from.At, from.Ref, limit)
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
