package tables

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"inventory/internal/stock"
)

// ChangeOrder implements [stock.Store].
//
// The order's own row comes first, so that changes of the order wait for each other. Then come SKU by SKU the segments, if units move, and
// the line's deduction, which every settlement of the order locks, too. All is read in one message, and written in one. Between them a change
// in groups locks the rows of their buyers, and reads them.
func (b Base) ChangeOrder(ctx context.Context, r stock.Revision) (done stock.Revised, err error) {
	err = b.InTx(ctx, r.Deadline, func(tx Tx) error {
		done, err = changeOrder(ctx, tx, r)
		return err
	})
	if err != nil {
		return stock.Revised{}, err
	}
	return done, nil
}

func changeOrder(ctx context.Context, tx Tx, r stock.Revision) (done stock.Revised, err error) {
	lock, write, at := &Statements{}, &Statements{}, time.Time{}
	there, locked := lock.orderChange(r.Change)
	read := stock.Column(r.Lines, func(line stock.RevisedLine) func() stock.FoundLine { return lock.findLine(tx, r, line) })
	tx.Instant(lock, r.At, &at)
	if err := tx.Send(ctx, lock); err != nil {
		return done, err
	}
	switch {
	case !*locked:
		return done, stock.UnknownOrder(r.Change.OrderID)
	case there.Ref != "":
		return done, r.Change.Replay(*there)
	case r.OnlyReplay:
		return done, stock.UnknownOrder(r.Change.OrderID)
	}
	found := stock.Column(read, func(line func() stock.FoundLine) stock.FoundLine { return line() })
	if r.InGroups() {
		if err := countInGroups(ctx, tx, r, found, &at); err != nil {
			return done, err
		}
	}
	plans, err := r.Plan(found, at)
	if err != nil {
		return done, err
	}
	for i, line := range r.Lines {
		if found[i].Expired > 0 && plans[i].Taken.Available > 0 { // some of the units that came back are left for others
			tx.Notify(write, line.SKU)
		}
	}
	if err := write.revise(tx, r, plans, at); err != nil {
		return done, err
	}
	return stock.Revised{Created: true, Plans: plans}, tx.Send(ctx, write)
}

// ChangeSeen returns statements that make a usual change in one message: they lock what a change locks, fail if a line is not as it was seen,
// or if it is later than a deadline, and write. It reports false if the change is another one, or is refused: that has to be decided under the
// locks.
func ChangeSeen(tx Tx, r stock.Revision, at time.Time, deadline *time.Time) (s *Statements, done stock.Revised, usual bool) {
	found, usual := r.Seen()
	if !usual {
		return nil, done, false
	}
	plans, err := r.Plan(found, at)
	if err != nil {
		return nil, done, false
	}
	s = &Statements{}
	s.Exec("lock_order", r.Change.OrderID)
	for _, line := range r.Lines {
		if r.Moves(line) {
			s.LockAll(line.SKU)
		}
		s.Exec("lock_whole", line.SKU, []string{r.Change.OrderID})
	}
	s.requireSeen(r, found)
	if err := s.revise(tx, r, plans, at); err != nil {
		return nil, done, false
	}
	s.Exec("require_in_time", deadline)
	return s, stock.Revised{Created: true, Plans: plans}, true
}

// requireSeen has the message fail if the order or a line is not as it was seen, or it is too late for its reservation or a sale.
func (s *Statements) requireSeen(r stock.Revision, found []stock.FoundLine) {
	var until time.Time
	layouts := make([]int64, len(found))
	for i, line := range r.Lines {
		if d := found[i].There; d.Status == stock.StatusReserved {
			until = stock.Earlier(until, d.ExpiresAt)
		}
		if r.NeedsUnits(line) {
			until = stock.Earlier(until, line.SaleWindow.EndsAt)
		}
		if r.Moves(line) {
			layouts[i] = line.Layout
		}
	}
	if !r.At.IsZero() {
		until = time.Time{}
	}
	s.Exec("require_seen", r.Change.OrderID, r.Change.Ref, r.Order.BuyerID, r.Order.Revision, Instant(until),
		stock.Column(r.Lines, func(l stock.RevisedLine) string { return l.SKU }), layouts,
		stock.Column(found, func(f stock.FoundLine) string { return string(f.There.Status) }),
		stock.Column(found, func(f stock.FoundLine) int64 { return f.There.Quantity }),
		stock.Column(found, func(f stock.FoundLine) Instant { return Instant(f.There.ExpiresAt) }))
}

// revise writes what becomes of an order, whose rows are locked.
func (s *Statements) revise(tx Tx, r stock.Revision, plans []stock.LinePlan, at time.Time) error {
	s.UncountInGroups(stock.Column(plans, func(plan stock.LinePlan) stock.SettlementPlan { return plan.SettlementPlan })...)
	for _, plan := range plans {
		s.changeLine(tx, r, plan, at)
	}
	return s.changedOrder(r, plans, at)
}

// orderChange locks an order, and reads the change that has the ref; without one, it has no ref.
func (s *Statements) orderChange(c stock.OrderChange) (there *stock.OrderChange, locked *bool) {
	there, locked = &stock.OrderChange{}, new(bool)
	s.Each(func(row Row) error {
		*locked = true
		return row.Scan(new(string))
	}, "lock_order", c.OrderID)
	s.Each(func(row Row) error {
		var lines string
		if err := row.Scan(&lines, &there.NewBuyer, &there.WriteOff, &there.Reason); err != nil {
			return err
		}
		there.Ref = c.Ref
		return json.Unmarshal([]byte(lines), &there.Lines)
	}, "order_change", c.OrderID, c.Ref)
	return there, locked
}

// countInGroups locks the rows of buyers in groups, reads those of the lines' buyer, and the instant again.
func countInGroups(ctx context.Context, tx Tx, r stock.Revision, found []stock.FoundLine, at *time.Time) error {
	count, units := &Statements{}, make(map[string]map[string]int64)
	count.LockCounted(r.CountedInGroups(found))
	for _, line := range r.Lines {
		if in := r.Counts(line); stock.IsGroup(in) && units[in] == nil {
			units[in] = make(map[string]int64)
			count.Each(Into(units[in]), "buyer_units", in, []string{r.Buyer()})
		}
	}
	tx.Instant(count, r.At, at)
	err := tx.Send(ctx, count)
	for i, line := range r.Lines {
		if in := r.Counts(line); stock.IsGroup(in) {
			found[i].Units = units[in][r.Buyer()]
		}
	}
	return err
}

// findLine locks and reads what a line is decided from. The caller calls the returned function when that was sent. As prepareBatch, it ends
// no reservations in groups.
func (s *Statements) findLine(tx Tx, r stock.Revision, line stock.RevisedLine) func() stock.FoundLine {
	segments, expired, hasExpired, refUsed, units := new([]stock.Segment), new(int), new(bool), new(bool), make(map[string]int64)
	switch {
	case r.Gains(line) && r.InGroups():
		segments = s.LockAll(line.SKU)
		s.Single([]any{hasExpired}, "has_expired", line.SKU, At(r.At), tx.Swept().Until(r.At))
	case r.Gains(line):
		segments, expired = s.LockRefilled(tx, line.SKU, r.At)
	case r.Moves(line):
		segments = s.LockAll(line.SKU)
	}
	there := s.Whole("lock_whole", line.SKU, []string{r.Change.OrderID})
	s.Each(func(row Row) error {
		*refUsed = true
		return row.Scan(new(string), new(string), new(string), new(int64), new(int64), new(string))
	}, "amendments", line.SKU, []string{r.Change.OrderID}, []string{r.Change.Ref})
	if in := r.Counts(line); in != "" && !stock.IsGroup(in) {
		s.Each(Into(units), "buyer_units", in, []string{r.Buyer()})
	}
	return func() (f stock.FoundLine) {
		f.There, f.Known = there[r.Change.OrderID]
		f.Segments, f.Expired, f.HasExpired, f.RefUsed, f.Units = *segments, *expired, *hasExpired, *refUsed, units[r.Buyer()]
		return f
	}
}

// changeLine writes what becomes of a line, whose rows are locked.
func (s *Statements) changeLine(tx Tx, r stock.Revision, plan stock.LinePlan, at time.Time) {
	d, sku, more := plan.After, plan.After.SKU, plan.More()
	var segment *int
	if !d.Merged {
		segment = &d.Parts[0].Segment
	}
	if plan.Added {
		a := ArraysOf(plan.Merge.Orders)
		a.Quantities[0] = int32(d.Quantity) //nolint:gosec // at most stock.MaxQuantity
		args := []any{sku, a.OrderIDs, a.Quantities, a.Reserves, []*int{segment}, at, true, plan.CountedAt != ""}
		s.Exec("insert_deductions", append(args, a.Texts...)...).Wrote = AllOf(1)
	}
	s.Settle(tx, sku, plan.SettlementPlan, at)
	if more > 0 {
		kind := stock.Take
		if d.Status == stock.StatusReserved {
			kind = stock.Reserve
		}
		s.Exec("insert_addition", sku, d.OrderID, r.Change.Ref, string(kind), more, at)
		s.moreOf(plan)
	}
	if plan.Counted > 0 {
		s.Count(plan.CountedAt, plan.Limit, []stock.Order{{BuyerID: r.Buyer(), Quantity: plan.Counted}})
	}
	s.Exec("revise_line", sku, d.OrderID, string(d.Status), d.Quantity, d.Order.Quantity, d.Committed, segment, d.BuyerID,
		plan.CountedAt, Instant(d.ExpiresAt), d.ReserveFor.Microseconds(), plan.Added, d.Revision, d.Removed).Wrote = AllOf(1)
}

// moreOf takes more units of a line from the segments, and writes its parts anew.
func (s *Statements) moreOf(plan stock.LinePlan) {
	if d := plan.After; plan.WasReturned() {
		s.Exec("set_aside_return", d.SKU, d.OrderID, stock.AsideRef(d.Revision))
	}
	var taken Changes
	for i, units := range plan.Taken.Changes {
		taken.Add(i, units, plan.Taken.Reserved[i], stock.Fence{})
	}
	s.Change(plan.After.SKU, taken)
	if plan.After.Merged {
		var parts Parts
		parts.Add(plan.After.OrderID, plan.After.Parts)
		s.Exec("delete_parts", plan.After.SKU, parts.OrderIDs[:1])
		parts.insert(s, plan.After.SKU)
	}
}

// changedOrder writes what the order has of a change: its new lines, its buyer, and the change itself.
func (s *Statements) changedOrder(r stock.Revision, plans []stock.LinePlan, at time.Time) error {
	for _, plan := range plans {
		if plan.Added {
			s.Exec("add_line", r.Change.OrderID, plan.After.SKU, plan.After.Quantity)
		}
	}
	if r.Change.NewBuyer != "" {
		s.Exec("hand_over", r.Change.OrderID, r.Change.NewBuyer)
	}
	lines, err := json.Marshal(r.Change.Lines)
	if err != nil {
		return fmt.Errorf("write the lines of a change: %w", err)
	}
	s.Exec("insert_change", r.Change.OrderID, r.Change.Ref, string(lines), r.Change.NewBuyer, r.Change.WriteOff, r.Change.Reason, at)
	return nil
}

// HandOvers implements [stock.Store].
func (b Base) HandOvers(ctx context.Context, orderID string) ([]stock.Entry, error) {
	return All(ctx, b.DB, func(row Row) (stock.Entry, error) {
		e := stock.Entry{Kind: stock.EntryHandedOver}
		err := row.Scan(&e.Ref, &e.BuyerID, &e.Reason, (*Time)(&e.At))
		return e, err
	}, "hand_overs", orderID)
}
