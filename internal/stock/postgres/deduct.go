package postgres

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"inventory/internal/stock"
	"inventory/internal/stock/tables"
)

// Deduct implements [stock.Store]. Meanwhile batches of other SKUs gather: see [Store.Share].
func (s *Store) Deduct(ctx context.Context, batch stock.Batch) (stock.BatchResult, error) {
	s.sharing.alone.Add(1)
	defer s.sharing.alone.Add(-1)
	result, decided, err := s.deductAtOnce(ctx, batch)
	if err == nil && !decided {
		result, err = s.deductInTx(ctx, batch)
	}
	return result, translate(err)
}

// deductInTx writes a batch by a transaction, which decides each order by itself.
func (s *Store) deductInTx(ctx context.Context, batch stock.Batch) (result stock.BatchResult, err error) {
	err = s.inTx(ctx, batch.Deadline, func(tx transaction) error {
		if result, err = tables.DeductBatch(ctx, tx, batch, false); err != nil {
			return err
		}
		var taken []*stock.Deduction
		for i := range result.Outcomes {
			if result.Outcomes[i].Kind == stock.Accepted {
				taken = append(taken, &result.Outcomes[i].Deduction)
			}
		}
		return tx.inTime(ctx, batch.At, batch.SaleWindow.EndsAt, taken)
	})
	return result, err
}

// caution says when not to try a statement that fails if an order is known. After one that failed so many batches do without it, and
// after each further failure in a row twice as many. So orders that are often repeated cost little more than without it.
type caution struct {
	mu           sync.Mutex
	failed, left int
}

const (
	skippedFirst = 16
	skippedMost  = 1024
)

// skips reports whether the next batch is to do without it.
func (c *caution) skips() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.left == 0 {
		return false
	}
	c.left--
	return true
}

// note notes whether a try failed.
func (c *caution) note(failed bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !failed {
		c.failed = 0
		return
	}
	c.left = min(skippedFirst<<c.failed, skippedMost)
	c.failed = min(c.failed+1, skippedFirst)
}

// batchRow is the row that the statement of a batch returns.
type batchRow struct {
	before, after *int64 // what the segment held and holds; before nil: no such row, after nil: unchanged
	orders        int
	inserted      []string // nil if all or none were
	at            *time.Time
	limited       []string // of a SKU with a buyer limit: order ids that are certainly new, and over the limit
	stale         bool     // reservations have expired whose units are not back
}

// deductAtOnce writes the batch by a statement, or by a second one if an order of a batch is known that was expected to be new. It reports
// false, with nothing written, if the batch does not fit, the fence or the layout does not match, the SKU is not sold now, or a race or a
// wait for an order id aborted the statement.
func (s *Store) deductAtOnce(ctx context.Context, batch stock.Batch) (result stock.BatchResult, decided bool, err error) {
	var w batchRow
	known := batch.Limit > 0 || s.sharing.allNew.skips()
	if !known {
		w, err = s.sendNew(ctx, batch)
		known = StateOf(err) == uniqueViolation
		s.sharing.allNew.note(known)
	}
	if known {
		w, err = s.sendBatch(ctx, batch)
	}
	if nothingWritten(err) {
		return result, false, nil
	}
	if err != nil {
		return result, false, err
	}
	return s.conclude(ctx, batch, w)
}

// conclude returns the result of a batch from what a statement has returned. It reports false if the statement has written
// nothing of the batch: it does not fit, the fence or the layout does not match, or the SKU is not sold now.
func (s *Store) conclude(ctx context.Context, batch stock.Batch, w batchRow) (result stock.BatchResult, decided bool, err error) {
	if w.before == nil || *w.before < batch.Units() || batch.SaleWindow.Refusal(batch.SKU, w.at.UTC()) != nil {
		return result, false, nil
	}
	result.At, result.Outcomes = w.at.UTC(), make([]stock.Outcome, len(batch.Orders))
	if result.Available = *w.before; w.after != nil {
		result.Available = *w.after
	}
	if w.orders == len(batch.Orders) {
		for i, o := range batch.Orders {
			result.Outcomes[i] = stock.AcceptedOutcome(batch.SKU, o, result.At)
		}
		return result, true, nil
	}
	return result, true, s.tellApart(ctx, batch, w, &result)
}

// argumentsOf returns the arguments that the statements of deduct.sql share.
func (s *Store) argumentsOf(batch stock.Batch) []any {
	c := tables.ArraysOf(batch.Orders)
	return append([]any{
		batch.SKU, batch.Segment, batch.Fence.Token, batch.Fence.Owner,
		c.OrderIDs, c.Quantities, c.Reserves, batch.Units(), instant(batch.At), batch.Layout,
		s.deadline(batch.Deadline), instant(batch.SaleWindow.StartsAt), instant(batch.SaleWindow.EndsAt),
	}, c.Texts...)
}

// sendNew sends the statement of a batch whose orders are all new. It fails if one is not.
func (s *Store) sendNew(ctx context.Context, batch stock.Batch) (w batchRow, err error) {
	var at time.Time
	var left int64
	sent := time.Now()
	found, err := tables.One(ctx, s.pool.writing(), []any{&at, &left, nil}, "deduct_new", s.argumentsOf(batch)...)
	if err != nil || !found {
		return w, err
	}
	if batch.At.IsZero() {
		s.clock.note(sent, at)
	}
	before := left + batch.Units()
	return batchRow{before: &before, after: &left, orders: len(batch.Orders), at: &at}, nil
}

// sendBatch sends the statement of a batch of which some orders may be known.
func (s *Store) sendBatch(ctx context.Context, batch stock.Batch) (w batchRow, err error) {
	statement, columns, args := "deduct", []any{&w.before, &w.orders, &w.after, &w.inserted, &w.at}, s.argumentsOf(batch)
	if batch.Limit > 0 {
		statement, columns = "deduct_limited", append(columns, &w.limited, &w.stale)
		args = append(args, batch.Limit, s.pool.swept.Until(batch.At), batch.CountedAt())
	}
	sent := time.Now()
	err = tables.Single(ctx, s.pool.writing(), columns, statement, args...)
	if w.at != nil && batch.At.IsZero() {
		s.clock.note(sent, *w.at)
	}
	return w, err
}

// tellApart sets the outcomes of a batch if not all its orders were inserted. Another statement reads what the first one
// could not see: a row that was committed while the batch waited for it is invisible to the batch's own snapshot.
func (s *Store) tellApart(ctx context.Context, batch stock.Batch, w batchRow, result *stock.BatchResult) error {
	inserted, limited := setOf(w.inserted), setOf(w.limited)
	var open []string
	for _, o := range batch.Orders {
		if !inserted[o.OrderID] && !limited[o.OrderID] {
			open = append(open, o.OrderID)
		}
	}
	var known map[string]stock.Deduction
	if len(open) > 0 {
		var err error
		if known, err = tables.ByIDs(ctx, s.pool, batch.SKU, open); err != nil {
			if w.orders == 0 {
				err = stock.Unwritten(err)
			}
			return err
		}
	}
	for i, o := range batch.Orders {
		d, there := known[o.OrderID]
		switch {
		case inserted[o.OrderID]:
			result.Outcomes[i] = stock.AcceptedOutcome(batch.SKU, o, result.At)
		case there:
			result.Outcomes[i] = stock.Outcome{Kind: stock.Known, Deduction: d}
		case batch.Limit > 0: // the buyer bought meanwhile, under another order id
			result.Outcomes[i] = stock.Outcome{Kind: stock.Limited}
			result.Stale = w.stale
		default:
			return fmt.Errorf("order id %q conflicted with a row that is not there", o.OrderID)
		}
	}
	return nil
}

func setOf(ids []string) map[string]bool {
	set := make(map[string]bool, len(ids))
	for _, id := range ids {
		set[id] = true
	}
	return set
}

// Merge implements [stock.Store]. If another transaction holds a row for long, the merge leaves it out. If all rows are held, it waits.
func (s *Store) Merge(ctx context.Context, merge stock.Batch) (result stock.BatchResult, err error) {
	merge.Segment = stock.AllSegments
	if merge.RowWait > 0 {
		if result, err = s.merge(ctx, merge, false); errors.Is(err, stock.ErrHeld) {
			result, err = s.merge(ctx, merge, true)
		}
		if !errors.Is(err, stock.ErrHeld) {
			return result, err
		}
		merge.RowWait = 0
	}
	return s.merge(ctx, merge, false)
}

func (s *Store) merge(ctx context.Context, merge stock.Batch, freeRows bool) (result stock.BatchResult, err error) {
	err = s.inTx(ctx, merge.Deadline, func(tx transaction) error {
		result, err = tables.DeductBatch(ctx, tx, merge, freeRows)
		return err
	})
	return result, err
}
