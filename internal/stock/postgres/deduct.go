package postgres

import (
	"context"
	_ "embed"
	"fmt"

	"inventory/internal/stock"
)

//go:embed deduct.sql
var deductSQL string

// Deduct implements [stock.Store].
func (s *Store) Deduct(ctx context.Context, batch stock.Batch) (stock.BatchResult, error) {
	first, repeats := stock.Unique(batch.Orders)
	result := stock.BatchResult{Outcomes: make([]stock.Outcome, len(batch.Orders))}
	settled, err := s.deductWhole(ctx, batch, first, &result)
	if err == nil && !settled {
		err = s.settle(ctx, batch, first, &result)
	}
	if err != nil {
		return stock.BatchResult{}, translate(err)
	}
	stock.Repeat(result.Outcomes, repeats)
	return result, nil
}

// columns are the arrays that unnest turns into rows.
type columns struct {
	orderIDs, buyerIDs []string
	quantities         []int32
	units              int64
}

func columnsOf(orders []stock.Order, indexes []int) columns {
	c := columns{
		orderIDs:   make([]string, len(indexes)),
		buyerIDs:   make([]string, len(indexes)),
		quantities: make([]int32, len(indexes)),
	}
	for n, i := range indexes {
		o := orders[i]
		c.orderIDs[n], c.buyerIDs[n] = o.OrderID, o.BuyerID
		c.quantities[n] = int32(o.Quantity) //nolint:gosec // at most stock.MaxQuantity
		c.units += o.Quantity
	}
	return c
}

// deductWhole sends the batch as one statement. It reports false, with nothing written, if the batch does not
// fit, the fence does not pass, or the statement met a race that it cannot win: PostgreSQL checks constraints on
// the row version of the statement's snapshot, before it notices that the row has a newer one. So a batch that
// waited for a restock, and was admitted by what the restock brought, trips over the stock of before.
func (s *Store) deductWhole(ctx context.Context, batch stock.Batch, first []int, result *stock.BatchResult) (settled bool, err error) {
	c := columnsOf(batch.Orders, first)
	var before, after *int64
	var count int
	var inserted []string // nil if all were
	err = s.pool.QueryRow(ctx, deductSQL, batch.SKU, batch.Segment, batch.Fence.Token, batch.Fence.Owner,
		c.orderIDs, c.buyerIDs, c.quantities, c.units, batch.At).Scan(&before, &count, &after, &inserted)
	if stateOf(err) == checkViolation {
		return false, nil
	}
	if err != nil || before == nil || count == 0 {
		return false, err
	}
	result.Available = *after
	if count == len(first) {
		for _, i := range first {
			result.Outcomes[i] = stock.AcceptedOutcome(batch.SKU, batch.Orders[i])
		}
		return true, nil
	}
	return true, s.tellApart(ctx, batch, first, inserted, result)
}

// tellApart sets the outcomes of a batch of which some order ids existed before. They are read by a statement of
// its own: a row that was committed while the batch waited for it is invisible to the batch's own snapshot.
func (s *Store) tellApart(ctx context.Context, batch stock.Batch, first []int, inserted []string, result *stock.BatchResult) error {
	now := make(map[string]bool, len(inserted))
	for _, id := range inserted {
		now[id] = true
	}
	var before []string
	for _, i := range first {
		if id := batch.Orders[i].OrderID; !now[id] {
			before = append(before, id)
		}
	}
	known, err := selectDeductions(ctx, s.pool, batch.SKU, before)
	if err != nil {
		return err
	}
	for _, i := range first {
		o := batch.Orders[i]
		if now[o.OrderID] {
			result.Outcomes[i] = stock.AcceptedOutcome(batch.SKU, o)
		} else if result.Outcomes[i], err = knownOutcome(known, o.OrderID); err != nil {
			return err
		}
	}
	return nil
}

// knownOutcome is the outcome of an order id that conflicted, so its row must be there: nothing deletes one.
func knownOutcome(known map[string]stock.Deduction, orderID string) (stock.Outcome, error) {
	d, ok := known[orderID]
	if !ok {
		return stock.Outcome{}, fmt.Errorf("order id %q conflicted with a row that is not there", orderID)
	}
	return stock.Outcome{Verdict: stock.Known, Deduction: d}, nil
}
