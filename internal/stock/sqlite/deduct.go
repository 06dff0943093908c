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
		result, err = deduct(context.WithoutCancel(ctx), tx, batch)
		return err
	})
	return result, err
}

// Merge implements [stock.Store].
func (s *Store) Merge(ctx context.Context, merge stock.Batch) (stock.BatchResult, error) {
	merge.Segment = stock.AllSegments
	return s.Deduct(ctx, merge)
}

// deduct carries out a batch in a transaction. If its segment fills all orders of a SKU without a buyer limit, none of them is
// looked up first: an insert finds those that are there already, and the batch is planned again.
func deduct(ctx context.Context, tx *transaction, batch stock.Batch) (stock.BatchResult, error) {
	var row stock.Segment
	columns := []any{&row.Available, &row.Reserved, &row.Layout, &row.Version, &row.Fence.Token, &row.Fence.Owner}
	found, err := tables.One(ctx, tx, columns, "segment", batch.SKU, batch.Segment)
	if err != nil {
		return stock.BatchResult{}, err
	}
	if !found || batch.Limit > 0 || batch.Units() > row.Available || batch.SaleWindow.Refusal(batch.SKU, batch.At) != nil {
		return tables.DeductBatch(ctx, tx, batch, false)
	}
	rows, facts := []stock.Segment{row}, stock.Facts{At: batch.At}
	plan, err := stock.PlanBatch(batch, rows, facts)
	if err != nil {
		return plan.BatchResult, err
	}
	if facts.Known, err = insertAll(ctx, tx, batch, plan); err == nil && facts.Known != nil {
		plan, err = stock.PlanBatch(batch, rows, facts)
	}
	if err != nil || plan.Changes[0] == 0 {
		return plan.BatchResult, err
	}
	_, err = tx.exec(ctx, "change_segment",
		batch.SKU, batch.Segment, plan.Changes[0], batch.Fence.Token, batch.Fence.Owner, plan.Reserved[0])
	return plan.BatchResult, err
}

// insertAll inserts the orders of a batch, and returns the deductions of those that are there already; nil if none is.
func insertAll(ctx context.Context, tx *transaction, batch stock.Batch, plan stock.BatchPlan) (map[string]stock.Deduction, error) {
	insert, there := &tables.Statements{}, []string(nil)
	for _, i := range plan.Admitted {
		d := plan.Outcomes[i].Deduction
		values := []any{d.SKU, d.OrderID, d.Quantity, batch.Segment, tables.Instant(d.ExpiresAt), string(d.Status), batch.At}
		for _, text := range stock.KeptTexts() {
			values = append(values, *text.Of(&d.Order))
		}
		one := insert.Exec("insert_deduction", values...)
		one.Wrote = func(rows int64) error {
			if rows == 0 {
				there = append(there, d.OrderID)
			}
			return nil
		}
	}
	if err := tx.Send(ctx, insert); err != nil || there == nil {
		return nil, err
	}
	return tables.ByIDs(ctx, tx, batch.SKU, there)
}

// Order implements [stock.Store].
func (s *Store) Order(ctx context.Context, placement stock.Placement) (lines []stock.Deduction, created bool, err error) {
	err = s.inShared(ctx, time.Time{}, len(placement.Lines), func(tx *transaction) error {
		lines, created, err = tables.PlaceOrder(ctx, tx, placement, false)
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
