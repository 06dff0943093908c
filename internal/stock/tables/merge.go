package tables

import (
	"context"
	"time"

	"inventory/internal/stock"
)

// Merge is a merge as a part of a transaction.
//
// While it holds the rows of all segments, no other deduction of the SKU is under way and no units come back, since both
// start by locking such a row. So the order ids and the buyers' units that it reads then are complete, and its inserts
// cannot conflict.
func Merge(ctx context.Context, tx Tx, merge stock.Batch) (stock.BatchResult, error) {
	read, write := &Statements{}, &Statements{}
	decide := mergeBy(tx, read, write, merge)
	if err := tx.Send(ctx, read); err != nil {
		return stock.BatchResult{}, err
	}
	result, err := decide()
	if err != nil {
		return result, err
	}
	return result, tx.Send(ctx, write)
}

// mergeBy adds to read what a merge reads. Once that is read, decide decides the merge, and adds to write what it writes.
func mergeBy(tx Tx, read, write *Statements, merge stock.Batch) (decide func() (stock.BatchResult, error)) {
	merge.Segment = stock.AllSegments
	facts := &stock.Facts{}
	segments := read.LockAll(merge.SKU)
	back := tx.Expire(read, merge.SKU, merge.At)
	read.Facts(facts, merge.SKU, merge.Limit, merge.Orders)
	read.Single([]any{(*Time)(&facts.NextExpiry)}, "next_expiry", merge.SKU)
	tx.Instant(read, merge.At, &facts.At)
	return func() (stock.BatchResult, error) {
		facts.Expired = back.Reservations
		plan, err := stock.PlanBatch(merge, stock.Refilled(*segments, back.Segments), *facts)
		if err != nil {
			return plan.BatchResult, err
		}
		write.Take(merge, plan)
		if back.Reservations > 0 && plan.Available > 0 { // some of the units that came back are left for others
			tx.Notify(write, merge.SKU)
		}
		return plan.BatchResult, nil
	}
}

// Facts reads the facts from which orders are decided. Buyers are read before order ids: so if a read finds the units of a
// buyer, the next one finds the order.
func (s *Statements) Facts(facts *stock.Facts, sku string, limit int64, orders []stock.Order) {
	facts.BuyerUnits, facts.Known = make(map[string]int64), make(map[string]stock.Deduction)
	if limit > 0 {
		s.Each(Into(facts.BuyerUnits), "buyer_units", sku, stock.BuyersOf(orders))
	}
	s.Each(DeductionsByID(facts.Known), "deductions_by_id", sku, stock.IDsOf(orders))
}

// Take writes what a plan takes for a batch, whose rows are locked.
func (s *Statements) Take(batch stock.Batch, plan stock.BatchPlan) {
	if len(plan.Admitted) == 0 {
		return
	}
	orders := stock.Pick(batch.Orders, plan.Admitted)
	s.Count(batch.SKU, batch.Limit, orders)
	c := ArraysOf(orders)
	c.Limited = batch.Limit > 0
	var several Parts
	for _, i := range plan.Admitted {
		if given := plan.Parts[i]; len(given) == 1 {
			c.Segments = append(c.Segments, &given[0].Segment)
			continue
		}
		c.Segments = append(c.Segments, nil)
		several.add(batch.Orders[i].OrderID, plan.Parts[i])
	}
	s.Insert(batch.SKU, c, plan.At).Wrote = AllOf(len(orders))
	several.insert(s, batch.SKU)
	var taken Changes
	for i, units := range plan.Changes {
		segment, fence := batch.Row(i)
		taken.Add(segment, units, plan.Reserved[i], fence)
	}
	s.Change(batch.SKU, taken)
}

// Parts are the columns of rows of deduction_parts.
type Parts struct {
	OrderIDs             []string
	Segments, Quantities []int32
}

func (p *Parts) add(orderID string, given []stock.Part) {
	for _, part := range given {
		p.OrderIDs = append(p.OrderIDs, orderID)
		p.Segments = append(p.Segments, int32(part.Segment))      //nolint:gosec // at most stock.MaxSegments
		p.Quantities = append(p.Quantities, int32(part.Quantity)) //nolint:gosec // at most stock.MaxQuantity
	}
}

func (p *Parts) insert(s *Statements, sku string) {
	if len(p.OrderIDs) > 0 {
		s.Exec("insert_parts", sku, p.OrderIDs, p.Segments, p.Quantities)
	}
}

// Insert inserts deductions from the segments of the arrays, unless they are there already.
func (s *Statements) Insert(sku string, a Arrays, at time.Time) *Statement {
	args := []any{sku, a.OrderIDs, a.Quantities, a.Reserves, a.Segments, at, a.InOrder, a.Limited}
	return s.Exec("insert_deductions", append(args, a.Texts...)...)
}
