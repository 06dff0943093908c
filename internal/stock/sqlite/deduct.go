package sqlite

import (
	"context"
	"time"

	"inventory/internal/stock"
)

// Deduct implements [stock.Store].
func (s *Store) Deduct(ctx context.Context, batch stock.Batch) (stock.BatchResult, error) {
	return batch.Once(func(batch stock.Batch) (result stock.BatchResult, err error) {
		err = s.inShared(ctx, batch.Deadline, len(batch.Orders), func(tx *transaction) error {
			batch := batch
			batch.At = now(batch.At)
			// The driver has a goroutine watch every statement that can be cancelled. A batch takes milliseconds.
			result, err = s.deduct(context.WithoutCancel(ctx), tx, batch)
			return err
		})
		return result, err
	})
}

// deduct is a batch as a part of a transaction.
func (s *Store) deduct(ctx context.Context, tx *transaction, batch stock.Batch) (result stock.BatchResult, err error) {
	row, err := readSegment(ctx, tx, batch.SKU, batch.Segment)
	if err != nil {
		return result, err
	}
	facts := stock.Facts{At: batch.At}
	if !fits(batch, row) {
		if facts, err = s.facts(ctx, tx, batch.SKU, batch.At, batch.Limit, batch.Orders); err != nil {
			return result, err
		}
	}
	if batch.Limit > 0 {
		if facts.HasExpired, err = hasExpired(ctx, tx, batch.SKU, batch.At); err != nil {
			return result, err
		}
	}
	plan, err := stock.PlanBatch(batch, row, facts)
	if err != nil {
		return result, err
	}
	if err := s.insertAll(ctx, tx, batch, &plan); err != nil || plan.Units == 0 {
		return plan.BatchResult, err
	}
	return plan.BatchResult, s.change(ctx, tx, batch.SKU, batch.Segment, -plan.Units, plan.Reserved, batch.Fence)
}

// fits tells whether a segment fills all orders, of buyers without a limit: then none has to be looked up before.
func fits(batch stock.Batch, row stock.Segment) bool {
	var units int64
	for _, o := range batch.Orders {
		units += o.Quantity
	}
	return batch.Limit == 0 && units <= row.Available && batch.SaleWindow.Refusal(batch.SKU, batch.At) == nil
}

// facts looks up what orders are decided by.
func (s *Store) facts(
	ctx context.Context, tx *transaction, sku string, at time.Time, limit int64, orders []stock.Order,
) (facts stock.Facts, err error) {
	facts.At = at
	if facts.Known, err = readByIDs(ctx, tx, sku, stock.IDsOf(orders)); err != nil || limit == 0 {
		return facts, err
	}
	facts.BuyerUnits, err = s.readUnits(ctx, tx, sku, stock.BuyersOf(orders))
	return facts, err
}

// insertAll inserts the admitted orders of a batch. Those that turn out to be there already are known, and take nothing.
func (s *Store) insertAll(ctx context.Context, tx *transaction, batch stock.Batch, plan *stock.BatchPlan) error {
	var before []int
	for _, i := range plan.Admitted {
		o := batch.Orders[i]
		created, err := changed(tx.ExecContext(ctx, insertDeduction, values(&plan.Outcomes[i].Deduction, &batch.Segment, batch.At)...))
		if err != nil {
			return err
		}
		if !created {
			before = append(before, i)
			continue
		}
		if err := s.countUnits(ctx, tx, batch.SKU, o, batch.Limit); err != nil {
			return err
		}
	}
	if before == nil {
		return nil
	}
	known, err := readByIDs(ctx, tx, batch.SKU, stock.IDsOf(stock.Pick(batch.Orders, before)))
	for _, i := range before {
		plan.Replay(i, known[batch.Orders[i].OrderID])
	}
	return err
}
