package tables

import (
	"context"
	"slices"
	"time"

	"inventory/internal/stock"
)

// Merge is a merge as a part of a transaction.
//
// While it holds the rows of all segments, no other deduction of the SKU is under way and no units come back, since both
// start by locking such a row. So the order ids and the buyers' units that it reads then are complete, and its inserts
// cannot conflict.
func Merge(ctx context.Context, tx Tx, merge stock.Merge) (stock.MergeResult, error) {
	read, write := &Statements{}, &Statements{}
	decide := mergeBy(tx, read, write, merge)
	if err := tx.Send(ctx, read); err != nil {
		return stock.MergeResult{}, err
	}
	result, err := decide()
	if err != nil {
		return result, err
	}
	return result, tx.Send(ctx, write)
}

// mergeBy adds to read what a merge reads. Once that is read, decide decides the merge, and adds to write what it writes.
func mergeBy(tx Tx, read, write *Statements, merge stock.Merge) (decide func() (stock.MergeResult, error)) {
	facts := &stock.Facts{}
	segments := read.LockAll(merge.SKU)
	back := tx.Expire(read, merge.SKU, merge.At)
	read.Facts(facts, merge.SKU, merge.Limit, merge.Orders)
	read.Single([]any{(*Time)(&facts.NextExpiry)}, "next_expiry", merge.SKU)
	tx.Instant(read, merge.At, &facts.At)
	return func() (stock.MergeResult, error) {
		facts.Expired = back.Reservations
		plan, result, err := merge.Plan(*segments, stock.LevelsOf(*segments, back.Segments), *facts)
		if err != nil {
			return result, err
		}
		if len(plan.Admitted) > 0 {
			write.Count(merge.SKU, merge.Limit, stock.Pick(merge.Orders, plan.Admitted))
			write.merged(merge, plan, facts.At)
			var taken Changes
			for segment, units := range plan.Changes {
				taken.Add(segment, units, plan.Reserved[segment], merge.Fences[segment])
			}
			write.Change(merge.SKU, taken)
		}
		if back.Reservations > 0 && holdAny(plan.Segments) { // some of the units that came back are left for others
			tx.Notify(write, merge.SKU)
		}
		return result, nil
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

func holdAny(segments []int64) bool {
	return slices.ContainsFunc(segments, func(available int64) bool { return available > 0 })
}

// merged inserts the deductions of a merge, and the parts of those that have several.
func (s *Statements) merged(merge stock.Merge, plan stock.MergePlan, at time.Time) {
	c := ArraysOf(stock.Pick(merge.Orders, plan.Admitted))
	c.Limited = merge.Limit > 0
	var several Parts
	for _, i := range plan.Admitted {
		if given := plan.Parts[i]; len(given) == 1 {
			c.Segments = append(c.Segments, &given[0].Segment)
			continue
		}
		c.Segments = append(c.Segments, nil)
		several.add(merge.Orders[i].OrderID, plan.Parts[i])
	}
	s.Insert(merge.SKU, c, at).Wrote = AllOf(len(plan.Admitted))
	several.insert(s, merge.SKU)
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
