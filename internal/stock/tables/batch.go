package tables

import (
	"cmp"
	"context"

	"inventory/internal/stock"
)

// DeductBatch carries out a batch as a part of a transaction, from one segment or from all of them, which is a merge. A merge leaves out the rows
// that another transaction holds if it is to take from free rows alone.
func DeductBatch(ctx context.Context, tx Tx, batch stock.Batch, freeRows bool) (stock.BatchResult, error) {
	read, write := &Statements{}, &Statements{}
	decide := prepareBatch(ctx, tx, read, write, stock.PlacedLine{Batch: batch, FreeRows: freeRows}, make(counts))
	if err := tx.Send(ctx, read); err != nil {
		return stock.BatchResult{}, err
	}
	result, err := decide()
	if err != nil {
		return result, err
	}
	return result, tx.Send(ctx, write)
}

// counts are the units with which buyers are counted, by count. Lines of an order may share one.
type counts map[string]map[string]int64

// prepareBatch adds to read what locks the rows of a batch, and what a decision needs. Once that is read, decide decides the batch, and adds
// to write what it writes.
//
// While a merge holds the rows of all segments, no other deduction of the SKU is under way and no units come back, since both
// start by locking such a row. So the order ids and the buyers' units that it reads then are complete, and its inserts
// cannot conflict.
//
// Of a batch for one segment that row alone is locked, and of a merge that leaves out what others hold all the others. A transaction on another segment may commit an order id or a buyer's units
// between the reads and the write. The write then changes fewer rows than expected, which is a race, and the transaction
// restarts.
//
// In a group, a merge ends no reservations that have expired: it would write buyers' rows before those of its own orders, and others write
// them in ascending order. It says that there are some.
func prepareBatch(ctx context.Context, tx Tx, read, write *Statements, line stock.PlacedLine, held counts) (decide func() (stock.BatchResult, error)) {
	batch := line.Batch
	facts, expired, merges := &stock.Facts{}, new(int), batch.Segment == stock.AllSegments
	inGroup := batch.Limit > 0 && batch.LimitGroup != ""
	var rows *[]stock.Segment
	if batch.RowWait > 0 {
		tx.RowWait(read, batch.RowWait)
	}
	switch {
	case merges && line.FreeRows:
		rows = read.LockFree(batch.SKU)
	case merges && inGroup:
		rows = read.LockAll(batch.SKU)
	case merges:
		rows, expired = read.LockRefilled(tx, batch.SKU, batch.At)
	default:
		rows = read.LockSome(batch.SKU, batch.Segment)
	}
	if batch.RowWait > 0 {
		tx.RowWait(read, 0)
	}
	if facts.BuyerUnits = held[batch.CountedAt()]; facts.BuyerUnits == nil {
		facts.BuyerUnits = make(map[string]int64)
		held[batch.CountedAt()] = facts.BuyerUnits
	}
	read.Facts(facts, batch)
	if merges && inGroup {
		read.Single([]any{&facts.HasExpired}, "has_expired", batch.SKU, At(batch.At), tx.Swept().Until(batch.At))
	}
	if merges {
		read.Single([]any{(*Time)(&facts.NextExpiry)}, "next_expiry", batch.SKU, At(batch.At), tx.Swept().Until(batch.At), batch.Units())
	} else if batch.Limit > 0 {
		read.Single([]any{&facts.HasExpired}, "has_expired", batch.SKU, At(batch.At), tx.Swept().Until(batch.At))
	}
	tx.Instant(read, batch.At, &facts.At)
	return func() (stock.BatchResult, error) {
		if len(*rows) == 0 {
			return stock.BatchResult{}, cmp.Or(SKUExists(ctx, tx, batch.SKU), stock.ErrLayout)
		}
		if len(stock.FreeOf(*rows)) == 0 {
			return stock.BatchResult{}, stock.ErrHeld
		}
		facts.Expired = *expired
		plan, err := stock.PlanBatch(batch, *rows, *facts)
		if err != nil {
			return plan.BatchResult, err
		}
		write.writeBatch(batch, plan, func(a Arrays) *Statement {
			args := []any{batch.SKU, a.OrderIDs, a.Quantities, a.Reserves, a.Segments, plan.At, a.InOrder, a.Limited}
			return write.Exec("insert_deductions", append(args, a.Texts...)...)
		})
		if *expired > 0 && plan.Available > 0 { // some of the units that came back are left for others
			tx.Notify(write, batch.SKU)
		}
		return plan.BatchResult, nil
	}
}

// Facts reads the facts from which orders are decided. Buyers are read before order ids: so if a read finds the units of a
// buyer, the next one finds the order.
func (s *Statements) Facts(facts *stock.Facts, batch stock.Batch) {
	facts.Known = make(map[string]stock.Deduction)
	if batch.Limit > 0 {
		buyers := stock.Column(batch.Orders, func(o stock.Order) string { return o.BuyerID })
		s.Each(Into(facts.BuyerUnits), "buyer_units", batch.CountedAt(), buyers)
	}
	s.Each(DeductionsByID(facts.Known), "deductions_by_id", batch.SKU, stock.IDsOf(batch.Orders))
}

// writeBatch writes what a plan takes for a batch, whose rows are locked. insert writes the deductions that are not there yet.
func (s *Statements) writeBatch(batch stock.Batch, plan stock.BatchPlan, insert func(Arrays) *Statement) {
	if len(plan.Admitted) == 0 {
		return
	}
	orders := stock.Column(plan.Admitted, func(i int) stock.Order { return batch.Orders[i] })
	s.Count(batch.CountedAt(), batch.Limit, orders)
	c := ArraysOf(orders)
	c.Limited = batch.Limit > 0
	var several Parts
	for _, i := range plan.Admitted {
		if given := plan.Parts[i]; len(given) == 1 {
			c.Segments = append(c.Segments, &given[0].Segment)
			continue
		}
		c.Segments = append(c.Segments, nil)
		several.Add(batch.Orders[i].OrderID, plan.Parts[i])
	}
	insert(c).Wrote = AllOf(len(orders))
	if batch.Limit > 0 && batch.LimitGroup != "" {
		s.Exec("mark_counted", batch.SKU, c.OrderIDs, batch.CountedAt()).Wrote = AllOf(len(orders))
	}
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

// Add adds the parts of a deduction.
func (p *Parts) Add(orderID string, given []stock.Part) {
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
