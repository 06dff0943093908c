package postgres

import (
	"context"
	"time"

	"inventory/internal/stock"
	"inventory/internal/stock/tables"
)

// Deduct implements [stock.Store].
func (s *Store) Deduct(ctx context.Context, batch stock.Batch) (stock.BatchResult, error) {
	return batch.Once(func(batch stock.Batch) (stock.BatchResult, error) {
		sharing := s.sharing
		if batch.Limit > 0 {
			sharing = s.limited
		}
		result, err := sharing.deduct(ctx, s, batch)
		return result, translate(err)
	})
}

// deductAlone writes a batch by itself.
func (s *Store) deductAlone(ctx context.Context, batch stock.Batch) (result stock.BatchResult, err error) {
	result, done, err := s.deductWhole(ctx, batch)
	if err != nil || done {
		return result, err
	}
	err = s.inTx(ctx, batch.Deadline, func(tx transaction) error {
		read, write := &tables.Statements{}, &tables.Statements{}
		decide := deductBy(ctx, tx, read, write, batch, batch.At)
		if err = tx.Send(ctx, read); err != nil {
			return err
		}
		if result, err = decide(); err != nil {
			return err
		}
		if err = tx.Send(ctx, write); err != nil {
			return err
		}
		var taken []*stock.Deduction
		for i := range result.Outcomes {
			if result.Outcomes[i].Kind == stock.Accepted {
				taken = append(taken, &result.Outcomes[i].Deduction)
			}
		}
		return tx.postpone(ctx, batch.At, taken)
	})
	return result, err
}

// deductBy is a batch as a part of a transaction. It adds to read what locks the segment, and what a decision needs. Once that is
// read, decide decides the batch, and adds to write what it writes.
//
// Only the segment is locked while it decides. A transaction on another segment may commit an order id or a buyer's units
// between the reads and the write. The write then changes fewer rows than expected, which is a race, and the transaction
// restarts. It also restarts if the sale has ended while the write waited for such a transaction. given is the instant to
// decide by; zero: the store's clock.
func deductBy(
	ctx context.Context, tx transaction, read, write *tables.Statements, batch stock.Batch, given time.Time,
) (decide func() (stock.BatchResult, error)) {
	facts := &stock.Facts{}
	rows := read.LockSome(batch.SKU, batch.Segment)
	read.Facts(facts, batch.SKU, batch.Limit, batch.Orders)
	if batch.Limit > 0 {
		read.Single([]any{&facts.HasExpired}, tables.HasExpired, batch.SKU, instant(batch.At))
	}
	tx.Instant(read, batch.At, &facts.At)
	return func() (stock.BatchResult, error) {
		var row stock.Segment
		if len(*rows) > 0 {
			row = (*rows)[0]
		} else if err := tables.SKUExists(ctx, tx, batch.SKU); err != nil {
			return stock.BatchResult{}, err
		}
		plan, err := stock.PlanBatch(batch, row, *facts)
		if err == nil && len(plan.Admitted) > 0 {
			writePlan(write, batch, plan, given)
		}
		return plan.BatchResult, err
	}
}

// writePlan adds what a batch writes, and then looks whether its sale has ended.
func writePlan(write *tables.Statements, batch stock.Batch, plan stock.BatchPlan, given time.Time) {
	orders := stock.Pick(batch.Orders, plan.Admitted)
	write.Count(batch.SKU, batch.Limit, orders)
	c := tables.ArraysOf(orders)
	for range orders {
		c.Segments = append(c.Segments, &batch.Segment)
	}
	write.Insert(tables.InsertDeductions, batch.SKU, c, plan.At).Wrote = tables.AllOf(len(orders))
	var taken tables.Changes
	taken.Add(batch.Segment, -plan.Units, plan.Reserved, batch.Fence)
	write.Change(batch.SKU, taken)
	if batch.SaleWindow.EndsAt.IsZero() {
		return
	}
	write.Each(func(row tables.Row) error {
		var wrote time.Time
		err := row.Scan((*tables.Time)(&wrote))
		if err == nil && batch.SaleWindow.Refusal(batch.SKU, wrote) != nil {
			err = tables.ErrRaced
		}
		return err
	}, readInstant, instant(given))
}

// Merge implements [stock.Store].
func (s *Store) Merge(ctx context.Context, merge stock.Merge) (stock.MergeResult, error) {
	return merge.Once(func(merge stock.Merge) (result stock.MergeResult, err error) {
		err = s.inTx(ctx, merge.Deadline, func(tx transaction) error {
			result, err = tables.Merge(ctx, tx, merge)
			return err
		})
		return result, err
	})
}
