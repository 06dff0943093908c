package sqlite

import (
	"context"
	"time"

	"inventory/internal/stock"
	"inventory/internal/stock/tables"
)

// Deduct implements [stock.Store].
func (s *Store) Deduct(ctx context.Context, batch stock.Batch) (result stock.BatchResult, err error) {
	err = s.inShared(ctx, batch.Deadline, len(batch.Orders), func(tx *transaction) error {
		batch := batch
		batch.At = now(batch.At)
		// The driver starts a goroutine for every statement that can be cancelled. A batch takes only milliseconds.
		result, err = s.deduct(context.WithoutCancel(ctx), tx, batch)
		return err
	})
	return result, err
}

// deduct carries out a batch in a transaction.
func (s *Store) deduct(ctx context.Context, tx *transaction, batch stock.Batch) (result stock.BatchResult, err error) {
	var row stock.Segment // the zero row: there is none
	columns := []any{&row.Available, &row.Reserved, &row.Layout, &row.Version, &row.Fence.Token, &row.Fence.Owner}
	found, err := tables.One(ctx, tx, columns, "segment", batch.SKU, batch.Segment)
	if err == nil && !found {
		err = tables.SKUExists(ctx, tx, batch.SKU)
	}
	if err != nil {
		return result, err
	}
	read, facts := &tables.Statements{}, stock.Facts{At: batch.At}
	if !fits(batch, row) {
		read.Facts(&facts, batch.SKU, batch.Limit, batch.Orders)
	}
	if batch.Limit > 0 {
		read.Single([]any{&facts.HasExpired}, "has_expired", batch.SKU, tables.At(batch.At))
	}
	if err := tx.Send(ctx, read); err != nil {
		return result, err
	}
	plan, err := stock.PlanBatch(batch, []stock.Segment{row}, facts)
	if err != nil {
		return result, err
	}
	if err := s.insertAll(ctx, tx, batch, &plan); err != nil || plan.Changes[0] == 0 {
		return plan.BatchResult, err
	}
	_, err = tx.exec(ctx, "change_segment",
		batch.SKU, batch.Segment, plan.Changes[0], batch.Fence.Token, batch.Fence.Owner, plan.Reserved[0])
	return plan.BatchResult, err
}

// fits reports whether a segment fills all orders of a SKU without a buyer limit: then no order has to be looked up first.
func fits(batch stock.Batch, row stock.Segment) bool {
	return batch.Limit == 0 && batch.Units() <= row.Available && batch.SaleWindow.Refusal(batch.SKU, batch.At) == nil
}

// insertAll inserts the admitted orders of a batch. Orders that turn out to be there already are known, and take nothing.
func (s *Store) insertAll(ctx context.Context, tx *transaction, batch stock.Batch, plan *stock.BatchPlan) error {
	var before, fresh []int
	for _, i := range plan.Admitted {
		created, err := changed(tx.exec(ctx, "insert_deduction", values(&plan.Outcomes[i].Deduction, &batch.Segment, batch.At, batch.Orders[i].InOrder, batch.Limit > 0)...))
		switch {
		case err != nil:
			return err
		case created:
			fresh = append(fresh, i)
		default:
			before = append(before, i)
		}
	}
	counts := &tables.Statements{}
	counts.Count(batch.SKU, batch.Limit, stock.Pick(batch.Orders, fresh))
	if err := tx.Send(ctx, counts); err != nil || before == nil {
		return err
	}
	known, err := tables.ByIDs(ctx, tx, batch.SKU, stock.IDsOf(stock.Pick(batch.Orders, before)))
	for _, i := range before {
		plan.Replay(i, known[batch.Orders[i].OrderID])
	}
	return err
}

// values returns what insert_deduction inserts.
func values(d *stock.Deduction, segment *int, at time.Time, inOrder, limited bool) []any {
	values := []any{d.SKU, d.OrderID, d.Quantity, segment, tables.Instant(d.ExpiresAt), string(d.Status), at, inOrder, limited}
	for _, text := range stock.KeptTexts() {
		values = append(values, *text.Of(&d.Order))
	}
	return values
}

// Merge implements [stock.Store].
func (s *Store) Merge(ctx context.Context, merge stock.Batch) (result stock.BatchResult, err error) {
	err = s.inShared(ctx, merge.Deadline, len(merge.Orders), func(tx *transaction) error {
		merge := merge
		merge.At = now(merge.At)
		result, err = tables.Merge(ctx, tx, merge)
		return err
	})
	return result, err
}

// Order implements [stock.Store].
func (s *Store) Order(ctx context.Context, placement stock.Placement) (lines []stock.Deduction, created bool, err error) {
	err = s.inShared(ctx, time.Time{}, len(placement.Lines), func(tx *transaction) error {
		lines, created, err = tables.PlaceOrder(ctx, tx, placement, false, func(_, _ *tables.Statements, line stock.Batch) func() (stock.BatchResult, error) {
			return func() (stock.BatchResult, error) { return s.deductLine(ctx, tx, line) }
		})
		if err == nil && !created {
			lines, err = tables.ReplayOrder(ctx, tx, placement)
		}
		return err
	})
	if err != nil {
		return nil, false, err
	}
	return lines, created, nil
}

// deductLine carries out a batch after it has given back the units of expired reservations, so that one segment fills more lines.
func (s *Store) deductLine(ctx context.Context, tx *transaction, line stock.Batch) (stock.BatchResult, error) {
	statements := &tables.Statements{}
	tx.Expire(statements, line.SKU, line.At)
	if err := tx.Send(ctx, statements); err != nil {
		return stock.BatchResult{}, err
	}
	return s.deduct(ctx, tx, line)
}
