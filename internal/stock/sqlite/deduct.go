package sqlite

import (
	"context"
	"time"

	"inventory/internal/stock"
)

// Deduct implements [stock.Store].
func (s *Store) Deduct(ctx context.Context, batch stock.Batch) (result stock.BatchResult, err error) {
	first, repeats := stock.Unique(batch.Orders)
	err = s.inShared(ctx, batch.Deadline, len(first), func(tx *transaction) error {
		batch := batch
		batch.At = now(batch.At)
		// The driver has a goroutine watch every statement that can be cancelled. A batch takes milliseconds.
		result, err = s.deduct(context.WithoutCancel(ctx), tx, batch, first)
		return err
	})
	if err != nil {
		return stock.BatchResult{}, err
	}
	stock.Repeat(result.Outcomes, repeats)
	return result, nil
}

// deduct is a batch as a part of a transaction.
func (s *Store) deduct(ctx context.Context, tx *transaction, batch stock.Batch, first []int) (result stock.BatchResult, err error) {
	row, err := readSegment(ctx, tx, batch.SKU, batch.Segment)
	if err != nil {
		return result, err
	}
	facts := stock.Facts{At: batch.At}
	if !fits(batch, first, row) {
		if facts, err = s.facts(ctx, tx, batch.SKU, batch.At, batch.Limit, batch.Orders, first); err != nil {
			return result, err
		}
	}
	if batch.Limit > 0 {
		if facts.HasExpired, err = hasExpired(ctx, tx, batch.SKU, batch.At); err != nil {
			return result, err
		}
	}
	plan, err := stock.PlanBatch(batch, first, row, facts)
	if err != nil {
		return result, err
	}
	if err := s.insertAll(ctx, tx, batch, &plan); err != nil || plan.Units == 0 {
		return plan.BatchResult, err
	}
	return plan.BatchResult, s.change(ctx, tx, batch.SKU, batch.Segment, -plan.Units, plan.Reserved, batch.Fence)
}

// fits tells whether a segment fills all orders, of buyers without a limit: then none has to be looked up before.
func fits(batch stock.Batch, first []int, row stock.Segment) bool {
	var units int64
	for _, i := range first {
		units += batch.Orders[i].Quantity
	}
	return batch.Limit == 0 && units <= row.Available && batch.SaleWindow.Refusal(batch.SKU, batch.At) == nil
}

// facts looks up what the orders at the indexes are decided by.
func (s *Store) facts(
	ctx context.Context, tx *transaction, sku string, at time.Time, limit int64, orders []stock.Order, indexes []int,
) (facts stock.Facts, err error) {
	facts.At = at
	if facts.Known, err = readByIDs(ctx, tx, sku, stock.IDsOf(orders, indexes)); err != nil || limit == 0 {
		return facts, err
	}
	facts.BuyerUnits, err = s.readUnits(ctx, tx, sku, stock.BuyersOf(orders, indexes))
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
	known, err := readByIDs(ctx, tx, batch.SKU, stock.IDsOf(batch.Orders, before))
	for _, i := range before {
		plan.Replay(i, known[batch.Orders[i].OrderID])
	}
	return err
}
