package sqlite

import (
	"context"
	"slices"

	"inventory/internal/stock"
)

// Deduct implements [stock.Store].
func (s *Store) Deduct(ctx context.Context, batch stock.Batch) (stock.BatchResult, error) {
	first, repeats := stock.Unique(batch.Orders)
	result := stock.BatchResult{Outcomes: make([]stock.Outcome, len(batch.Orders))}
	err := s.inTx(ctx, batch.Deadline, func(tx *transaction) error {
		batch.At = now(batch.At)
		result.At = batch.At
		// The driver has a goroutine watch every statement that can be cancelled. A batch takes milliseconds.
		ctx := context.WithoutCancel(ctx)
		var err error
		if result.Available, err = s.readSegment(ctx, tx, batch); err != nil {
			return err
		}
		admitted, err := s.admit(ctx, tx, batch, first, &result)
		if err != nil {
			return err
		}
		units, reserved, err := s.insertAll(ctx, tx, batch, admitted, result.Outcomes)
		if err != nil || units == 0 {
			return err
		}
		result.Available -= units
		return s.change(ctx, tx, batch.SKU, batch.Segment, -units, reserved, batch.Fence)
	})
	if err != nil {
		return stock.BatchResult{}, err
	}
	stock.Repeat(result.Outcomes, repeats)
	return result, nil
}

// admit returns which orders are to be inserted. Where all of them fit and buyers have no limit, none has to be looked up
// before.
func (s *Store) admit(ctx context.Context, tx *transaction, batch stock.Batch, first []int, result *stock.BatchResult) ([]int, error) {
	var units int64
	for _, i := range first {
		units += batch.Orders[i].Quantity
	}
	closed := batch.SaleWindow.Refusal(batch.SKU, batch.At) != nil
	if batch.Limit == 0 && units <= result.Available && !closed {
		return first, nil
	}
	demand, err := s.demand(ctx, tx, batch.SKU, batch.Limit, batch.Orders, first)
	if err != nil {
		return nil, err
	}
	demand.Closed = closed
	admitted := demand.Admit(first, result.Available, result.Outcomes)
	if slices.ContainsFunc(result.Outcomes, func(o stock.Outcome) bool { return o.Kind == stock.Limited }) {
		result.Stale, err = hasExpired(ctx, tx, batch.SKU, batch.At)
	}
	return admitted, err
}

// demand looks up what the orders at the indexes are decided by.
func (s *Store) demand(ctx context.Context, tx *transaction, sku string, limit int64, orders []stock.Order, indexes []int) (stock.Demand, error) {
	demand := stock.Demand{Orders: orders, Limit: limit}
	var err error
	if demand.Known, err = s.readKnown(ctx, tx, sku, orders, indexes); err != nil || limit == 0 {
		return demand, err
	}
	demand.Taken, err = s.readUnits(ctx, tx, sku, stock.BuyersOf(orders, indexes))
	return demand, err
}

// readKnown returns the deductions that the order ids at the indexes have already.
func (s *Store) readKnown(ctx context.Context, tx *transaction, sku string, orders []stock.Order, indexes []int) (map[string]stock.Deduction, error) {
	ids := make([]string, len(indexes))
	for n, i := range indexes {
		ids[n] = orders[i].OrderID
	}
	list, err := listed(ids)
	if err != nil {
		return nil, err
	}
	rows, err := tx.QueryContext(ctx, selectByIDs, sku, list)
	if err != nil {
		return nil, err
	}
	return scanByID(rows, sku)
}

// $5 is -1 where deduction_parts tells what each segment gave; $6 says when a reservation expires, and is null for others.
const insertDeduction = `
INSERT INTO deductions (sku_id, order_id, buyer_id, quantity, segment, expires_at, status, created_at)
VALUES ($1, $2, $3, $4, nullif($5, -1), $6, $7, $8)
ON CONFLICT (sku_id, order_id) DO NOTHING`

// insertAll inserts the admitted orders of a batch, sets their outcomes, and returns the units of those that were not
// there before, and how many of these are reserved.
func (s *Store) insertAll(ctx context.Context, tx *transaction, batch stock.Batch, admitted []int, outcomes []stock.Outcome) (units, reserved int64, err error) {
	if len(admitted) == 0 {
		return 0, 0, nil
	}
	var before []int
	for _, i := range admitted {
		o := batch.Orders[i]
		outcomes[i] = stock.AcceptedOutcome(batch.SKU, o, batch.At)
		created, err := changed(tx.ExecContext(ctx, insertDeduction, values(outcomes[i].Deduction, batch.Segment, batch.At)...))
		if err != nil {
			return 0, 0, err
		}
		if !created {
			before = append(before, i)
			continue
		}
		units += o.Quantity
		if o.ReserveFor > 0 {
			reserved += o.Quantity
		}
		if err := s.countUnits(ctx, tx, batch.SKU, o, batch.Limit); err != nil {
			return 0, 0, err
		}
	}
	return units, reserved, s.knownBefore(ctx, tx, batch, before, outcomes)
}

// knownBefore sets the outcomes of orders that were there before.
func (s *Store) knownBefore(ctx context.Context, tx *transaction, batch stock.Batch, before []int, outcomes []stock.Outcome) error {
	if len(before) == 0 {
		return nil
	}
	known, err := s.readKnown(ctx, tx, batch.SKU, batch.Orders, before)
	for _, i := range before {
		outcomes[i] = stock.Outcome{Kind: stock.Known, Deduction: known[batch.Orders[i].OrderID]}
	}
	return err
}
