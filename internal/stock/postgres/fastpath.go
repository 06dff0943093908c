package postgres

import (
	"context"
	_ "embed"
	"fmt"
	"strings"
	"time"

	"inventory/internal/stock"
	"inventory/internal/stock/tables"
)

var (
	//go:embed deduct.sql
	deductFile string
	//go:embed deduct_limited.sql
	deductLimitedFile string

	deductSQL           = tables.WithInsert(deductFile, 14)
	deductNewSQL        = withoutKnown(deductSQL)
	deductLimitedSQL    = tables.WithInsert(deductLimitedFile, 16)
	deductLimitedNewSQL = withoutKnown(deductLimitedSQL)
)

// withoutKnown returns a statement for orders that are all expected to be new: a known one makes it fail with uniqueViolation.
// To look for a conflict before each insert costs a quarter of what a row costs.
func withoutKnown(statement string) string {
	return strings.Replace(statement, "    ON CONFLICT (sku_id, order_id) DO NOTHING\n", "", 1)
}

// whole is what the statement of a batch returns.
type whole struct {
	before, after *int64 // what the segment held and holds; before nil: no such row, after nil: unchanged
	orders        int
	inserted      []string // nil if all or none were
	at            *time.Time
	limited       []string // of a SKU with a buyer limit: order ids that are certainly new, and over the limit
	stale         bool     // reservations have expired whose units are not back
}

// deductWhole sends the batch as one statement. It reports false, with nothing written, if the batch does not fit, the
// fence or the layout does not match, the SKU is not sold now, or a race or a wait for an order id aborted the statement.
func (s *Store) deductWhole(ctx context.Context, batch stock.Batch) (result stock.BatchResult, settled bool, err error) {
	c := tables.ArraysOf(batch.Orders)
	w, err := s.sendWhole(ctx, batch, c, batch.ExpectKnown)
	if !batch.ExpectKnown && (stateOf(err) == uniqueViolation || batch.Limit > 0 && raced(err)) {
		w, err = s.sendWhole(ctx, batch, c, true)
	}
	if raced(err) || stateOf(err) == lockNotAvailable {
		return result, false, nil
	}
	if err != nil {
		return result, false, err
	}
	return s.conclude(ctx, batch, c.Units, w)
}

// conclude returns the result of a batch from what a statement has returned. It reports false if the statement has written
// nothing of the batch: it does not fit, the fence or the layout does not match, or the SKU is not sold now.
func (s *Store) conclude(ctx context.Context, batch stock.Batch, units int64, w whole) (result stock.BatchResult, settled bool, err error) {
	if w.before == nil || *w.before < units || batch.SaleWindow.Refusal(batch.SKU, w.at.UTC()) != nil {
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

// sendWhole sends the statement. It accepts orders whose ids are known only if lookUp is set: then it looks for each id before
// it inserts the order and, if the SKU has a buyer limit, before it counts the buyer. New orders do not need that.
func (s *Store) sendWhole(ctx context.Context, batch stock.Batch, c tables.Arrays, lookUp bool) (w whole, err error) {
	args := []any{
		batch.SKU, batch.Segment, batch.Fence.Token, batch.Fence.Owner,
		c.OrderIDs, c.Quantities, c.Reserves, c.Units, instant(batch.At), batch.Layout,
		s.deadline(batch.Deadline), instant(batch.SaleWindow.StartsAt), instant(batch.SaleWindow.EndsAt),
	}
	sql, newSQL, columns := deductSQL, deductNewSQL, []any{&w.before, &w.orders, &w.after, &w.inserted, &w.at}
	if batch.Limit > 0 {
		sql, newSQL = deductLimitedSQL, deductLimitedNewSQL
		args, columns = append(args, batch.Limit, lookUp), append(columns, &w.limited, &w.stale)
	}
	if !lookUp {
		sql = newSQL
	}
	sent := time.Now()
	err = tables.Single(ctx, writing{s.pool}, columns, sql, append(args, c.Texts...)...)
	if w.at != nil && batch.At.IsZero() {
		s.clock.note(sent, *w.at)
	}
	if !lookUp {
		w.limited = nil // some may be known
	}
	return w, err
}

// tellApart sets the outcomes of a batch if not all its orders were inserted. Another statement reads what the first one
// could not see: a row that was committed while the batch waited for it is invisible to the batch's own snapshot.
func (s *Store) tellApart(ctx context.Context, batch stock.Batch, w whole, result *stock.BatchResult) error {
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
