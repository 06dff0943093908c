package sqlite

import (
	"context"

	"inventory/internal/stock"
	"inventory/internal/stock/tables"
)

// Deduct implements [stock.Store].
func (s *Store) Deduct(ctx context.Context, batch stock.Batch) (stock.BatchResult, error) {
	return batch.Once(func(batch stock.Batch) (result stock.BatchResult, err error) {
		err = s.inShared(ctx, batch.Deadline, len(batch.Orders), func(tx *transaction) error {
			batch := batch
			batch.At = now(batch.At)
			// The driver starts a goroutine for every statement that can be cancelled. A batch takes only milliseconds.
			result, err = s.deduct(context.WithoutCancel(ctx), tx, batch)
			return err
		})
		return result, err
	})
}

const selectSegment = `
SELECT available, reserved, layout, version, fence, fence_owner FROM stock_segments WHERE sku_id = $1 AND segment = $2`

// deduct carries out a batch in a transaction.
func (s *Store) deduct(ctx context.Context, tx *transaction, batch stock.Batch) (result stock.BatchResult, err error) {
	var row stock.Segment // the zero row: there is none
	columns := []any{&row.Available, &row.Reserved, &row.Layout, &row.Version, &row.Fence.Token, &row.Fence.Owner}
	found, err := tables.One(ctx, tx, columns, selectSegment, batch.SKU, batch.Segment)
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
		read.Single([]any{&facts.HasExpired}, tables.HasExpired, batch.SKU, tables.At(batch.At))
	}
	if err := tx.Send(ctx, read); err != nil {
		return result, err
	}
	plan, err := stock.PlanBatch(batch, row, facts)
	if err != nil {
		return result, err
	}
	if err := s.insertAll(ctx, tx, batch, &plan); err != nil || plan.Units == 0 {
		return plan.BatchResult, err
	}
	_, err = tx.ExecContext(ctx, changeSegment,
		batch.SKU, batch.Segment, -plan.Units, batch.Fence.Token, batch.Fence.Owner, plan.Reserved)
	return plan.BatchResult, err
}

// fits reports whether a segment fills all orders of a SKU without a buyer limit: then no order has to be looked up first.
func fits(batch stock.Batch, row stock.Segment) bool {
	var units int64
	for _, o := range batch.Orders {
		units += o.Quantity
	}
	return batch.Limit == 0 && units <= row.Available && batch.SaleWindow.Refusal(batch.SKU, batch.At) == nil
}

// insertAll inserts the admitted orders of a batch. Orders that turn out to be there already are known, and take nothing.
func (s *Store) insertAll(ctx context.Context, tx *transaction, batch stock.Batch, plan *stock.BatchPlan) error {
	var before, fresh []int
	for _, i := range plan.Admitted {
		created, err := changed(tx.ExecContext(ctx, insertDeduction, values(&plan.Outcomes[i].Deduction, &batch.Segment, batch.At)...))
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

// Adds $3 units, which may be below zero, under the fence $4 of owner $5; 0 is no fence. $6 units more are reserved.
const changeSegment = `
UPDATE stock_segments
SET available   = available + $3,
    reserved    = reserved + $6,
    version     = version + 1,
    fence       = CASE WHEN $4 = 0 THEN fence ELSE $4 END,
    fence_owner = CASE WHEN $4 = 0 THEN fence_owner ELSE $5 END
WHERE sku_id = $1 AND segment = $2`
