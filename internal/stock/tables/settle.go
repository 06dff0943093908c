package tables

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"inventory/internal/stock"
)

// Whole reads deductions with their parts, by "lock_whole" or a statement that does not lock them. Its rows have, after the
// columns of a [Deduction], the segment that gave all of it, whether it is a line of an order, where its buyer is counted, after which change
// of the order, and whether it is a line no more.
func (s *Statements) Whole(statement, sku string, ids []string) map[string]stock.Deduction {
	there := make(map[string]stock.Deduction, len(ids))
	var r Deduction
	var segment *int
	var inOrder, removed bool
	var countedAt string
	var revision int
	columns := append(r.Columns(), &segment, &inOrder, &countedAt, &revision, &removed)
	s.Each(func(row Row) error {
		err := row.Scan(columns...)
		d := r.Read()
		d.InOrder, d.CountedAt, d.Revision, d.Removed = inOrder, countedAt, revision, removed
		if d.Merged = segment == nil; !d.Merged {
			d.Parts = []stock.Part{{Segment: *segment, Quantity: d.Quantity}}
		}
		there[d.OrderID] = d
		return err
	}, statement, sku, ids)
	s.Each(func(row Row) error {
		var id string
		var part stock.Part
		err := row.Scan(&id, &part.Segment, &part.Quantity)
		if d, found := there[id]; found { // otherwise it was committed between the two statements
			d.Parts = append(d.Parts, part)
			there[id] = d
		}
		return err
	}, "parts", sku, ids)
	return there
}

// Amendments reads the amendments that have the refs of requests. The deductions are locked, so none is under way.
func (s *Statements) Amendments(settlement stock.Settlement) map[string]stock.Amendment {
	var ids, refs []string
	for _, request := range settlement.Requests {
		if request.Amends() {
			ids, refs = append(ids, request.OrderID), append(refs, request.Ref)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	there := make(map[string]stock.Amendment)
	s.Each(func(row Row) error {
		var a stock.Amendment
		err := row.Scan(&a.OrderID, &a.Ref, &a.Verb, &a.Units, (*Micros)(&a.Extended), &a.Reason)
		there[a.OrderID] = a
		return err
	}, "amendments", settlement.SKU, ids, refs)
	return there
}

// Settle writes what was planned at an instant. The rows that it changes are locked.
func (s *Statements) Settle(tx Tx, sku string, plan stock.SettlementPlan, at time.Time) {
	if changed := plan.Changed; len(changed) > 0 {
		s.Exec("update_deductions", sku,
			stock.Column(changed, func(d stock.Deduction) string { return d.OrderID }),
			stock.Column(changed, func(d stock.Deduction) string { return string(d.Status) }),
			stock.Column(changed, func(d stock.Deduction) int64 { return d.Quantity }),
			stock.Column(changed, func(d stock.Deduction) int64 { return d.Order.Quantity }),
			stock.Column(changed, func(d stock.Deduction) int64 { return d.Committed }),
			stock.Column(changed, func(d stock.Deduction) int64 { return d.WrittenOff }),
			stock.Column(changed, func(d stock.Deduction) Instant { return Instant(d.ExpiresAt) }),
			stock.Column(changed, func(d stock.Deduction) int64 { return d.ReserveFor.Microseconds() }), at)
	}
	var parts Parts // of what several segments gave: they are written anew
	for _, d := range plan.Changed {
		if d.Merged {
			parts.Add(d.OrderID, d.Parts)
		}
	}
	if len(parts.OrderIDs) > 0 {
		s.Exec("delete_parts", sku, parts.OrderIDs)
		parts.insert(s, sku)
	}
	if made := plan.Amendments; len(made) > 0 {
		s.Exec("insert_amendments", sku,
			stock.Column(made, func(a stock.Amendment) string { return a.OrderID }),
			stock.Column(made, func(a stock.Amendment) string { return a.Ref }),
			stock.Column(made, func(a stock.Amendment) string { return string(a.Verb) }),
			stock.Column(made, func(a stock.Amendment) int64 { return a.Units }),
			stock.Column(made, func(a stock.Amendment) int64 { return a.Extended.Microseconds() }),
			stock.Column(made, func(a stock.Amendment) string { return a.Reason }), at)
	}
	for _, d := range plan.Revised {
		s.Exec("release_line", sku, d.OrderID, d.Revision)
	}
	s.GiveBack(sku, plan.Returns)
	if plan.Units() > 0 {
		tx.Notify(s, sku)
	}
	for _, a := range plan.Amendments {
		if a.At = at; a.Verb == stock.WriteOff {
			s.Exec("lock_sku", sku)
			s.insertMovement(a.Movement(sku), []byte(noTerms)).Wrote = AllOf(1)
		}
	}
	if plan.Kept > 0 {
		s.Exec("keep_reserved", sku, plan.Kept)
	}
}

// noTerms is the JSON of no change of terms.
const noTerms = "{}"

// Settling is a settlement in a transaction.
type Settling struct {
	stock.Settlement
	Results  []stock.Settled                    // nil: it would give units back to rows that are not locked
	There    map[string]stock.Deduction         // under locks; of an unknown SKU there are none
	sql      func(name string) SQL              // has the texts of its statements; nil: the transaction has
	ids      []string                           // in the order in which they are locked
	returns  bool                               // it may give units back: the rows of all segments are locked
	rows     func(*Statements) *[]stock.Segment // locks them
	how      Locking                            // has locked them
	segments *[]stock.Segment
	amended  map[string]stock.Amendment // with the refs of the requests, under the locks of their deductions
}

// SettlingOf returns a settlement for a transaction. sql has the texts of its statements; nil: the transaction has.
func SettlingOf(settlement stock.Settlement, sql func(name string) SQL) *Settling {
	ids := settlement.OrderIDs()
	slices.Sort(ids)
	returns := slices.ContainsFunc(settlement.Requests, stock.SettleRequest.MayReturn)
	return &Settling{
		Settlement: settlement, sql: sql, ids: ids, returns: returns, segments: new([]stock.Segment),
		rows: func(lock *Statements) *[]stock.Segment { return lock.LockAll(settlement.SKU) },
	}
}

// LockSettled adds to statements what locks and reads all that settlements change, and sends them. It returns the store's time after
// that.
func LockSettled(ctx context.Context, tx Tx, lock *Statements, all []*Settling) (now time.Time, err error) {
	for _, w := range all {
		lock.SQL = w.sql
		if w.returns {
			w.segments = w.rows(lock)
		}
		w.There = lock.Whole("lock_whole", w.SKU, w.ids)
		w.amended = lock.Amendments(w.Settlement)
	}
	tx.Instant(lock, time.Time{}, &now)
	err = tx.Send(ctx, lock)
	return now, err
}

// Plan decides it, or another settlement of the same deductions.
func (w *Settling) Plan(settlement stock.Settlement, at time.Time) stock.SettlementPlan {
	return stock.PlanSettlement(settlement, w.There, w.amended, at, max(1, len(*w.segments)))
}

// Leaves reports whether a plan is not written, because it gives units back to rows that are not locked.
func (w *Settling) Leaves(plan stock.SettlementPlan) bool {
	return !w.returns && len(plan.Returns.Segments)+len(plan.Returns.Buyers) > 0
}

// Write adds what was planned, but for the counts in groups, unless it leaves it.
func (w *Settling) Write(tx Tx, write *Statements, plan stock.SettlementPlan, at time.Time) {
	if w.Results = nil; w.Leaves(plan) {
		return
	}
	w.Results, write.SQL = plan.Results, w.sql
	write.Settle(tx, w.SKU, plan, at)
}

// Settle settles lines of different SKUs. It locks the rows of the segments of those that may give units back, or of all lines. If a line
// gives units back after all, to rows that are not locked, that is a race.
func Settle(ctx context.Context, tx Tx, lines []stock.Settlement, lockAll bool, how Locking) (results []stock.Settled, err error) {
	all, of := make([]*Settling, len(lines)), make(map[string]*Settling, len(lines))
	for i, line := range lines {
		all[i] = SettlingOf(line, nil)
		all[i].returns, all[i].how, of[line.SKU] = all[i].returns || lockAll, how, all[i]
		all[i].rows = func(lock *Statements) *[]stock.Segment { return lock.Lock(ctx, tx, line.SKU, how) }
	}
	now, err := LockSettled(ctx, tx, &Statements{}, all)
	if err != nil {
		return nil, err
	}
	at, write := cmp.Or(lines[0].At, now), &Statements{}
	plans, results := stock.PlanLines(lines, func(line stock.Settlement) stock.SettlementPlan { return of[line.SKU].Plan(line, at) })
	write.UncountInGroups(plans...)
	for i, w := range all {
		if len(w.There) == 0 {
			if err := SKUExists(ctx, tx, w.SKU); err != nil {
				return nil, err
			}
		}
		if how == LockFree && !plans[i].Returns.Free(*w.segments) {
			return nil, stock.ErrHeld
		}
		if w.Write(tx, write, plans[i], at); w.Results == nil {
			return nil, ErrRaced
		}
	}
	return results, tx.Send(ctx, write)
}

// Retake implements [stock.Store].
func (b Base) Retake(ctx context.Context, deadline time.Time, retakes ...stock.Retake) (taken []stock.Deduction, err error) {
	err = b.InTx(ctx, deadline, func(tx Tx) error {
		taken = nil
		if err := lockToRetake(ctx, tx, retakes); err != nil {
			return err
		}
		for _, r := range retakes {
			d, err := retake(ctx, tx, r)
			if err != nil {
				return err
			}
			taken = append(taken, d)
		}
		return nil
	})
	return taken, err
}

// lockToRetake locks what several retakes need, if one is of a group: the rows of all segments and the deductions, and then the rows of the
// buyers in groups.
func lockToRetake(ctx context.Context, tx Tx, retakes []stock.Retake) error {
	inGroup := func(r stock.Retake) bool { return r.Limit > 0 && r.LimitGroup != "" }
	if len(retakes) == 1 || !slices.ContainsFunc(retakes, inGroup) {
		return nil
	}
	lock, count, found := &Statements{}, &Statements{}, make([]map[string]stock.Deduction, len(retakes))
	for _, r := range retakes {
		lock.LockAll(r.SKU)
	}
	for i, r := range retakes {
		found[i] = lock.Whole("lock_whole", r.SKU, []string{r.Request.OrderID})
	}
	if err := tx.Send(ctx, lock); err != nil {
		return err
	}
	var buyers []stock.Counted
	for i, r := range retakes {
		if d := found[i][r.Request.OrderID]; inGroup(r) && d.BuyerID != "" {
			buyers = append(buyers, stock.Counted{At: stock.CountOf(r.SKU, r.LimitGroup), BuyerID: d.BuyerID})
		}
	}
	count.LockCounted(buyers)
	return tx.Send(ctx, count)
}

// retake takes the units of one deduction. It holds the rows of all segments, so nobody else takes or gives back units, nor counts
// buyers, while it decides.
func retake(ctx context.Context, tx Tx, r stock.Retake) (stock.Deduction, error) {
	facts := stock.Facts{BuyerUnits: make(map[string]int64)}
	read, write, id := &Statements{}, &Statements{}, r.Request.OrderID
	var segments *[]stock.Segment
	expired, inGroup := new(int), r.Limit > 0 && r.LimitGroup != ""
	if inGroup { // see prepareBatch
		segments = read.LockAll(r.SKU)
		read.Single([]any{&facts.HasExpired}, "has_expired", r.SKU, At(r.At), tx.Swept().Until(r.At))
	} else {
		segments, expired = read.LockRefilled(tx, r.SKU, r.At)
	}
	there := read.Whole("lock_whole", r.SKU, []string{id})
	tx.Instant(read, r.At, &facts.At)
	if err := tx.Send(ctx, read); err != nil {
		return stock.Deduction{}, err
	}
	if *expired > 0 {
		tx.Notify(write, r.SKU)
	}
	request := stock.Settlement{SKU: r.SKU, Requests: []stock.SettleRequest{r.Request}}
	settled := stock.PlanSettlement(request, there, nil, facts.At, len(*segments))
	d, err := there[id], settled.Results[0].Err
	switch {
	case len(*segments) == 0:
		return stock.Deduction{}, stock.UnknownSKU(r.SKU)
	case d.Due(facts.At): // more expired than are ended at once
		return stock.Deduction{}, stock.ErrStale
	case errors.Is(err, stock.ErrRevised), d.Removed, !r.Request.MayRetake(d.Status), stock.CodeOf(err) != stock.CodeNotReserved:
		write.UncountInGroups(settled)
		write.Settle(tx, r.SKU, settled, facts.At)
		return settled.Results[0].Deduction, cmp.Or(err, tx.Send(ctx, write))
	}
	if d.BuyerID != "" && r.Limit > 0 {
		if err := tx.Each(ctx, Into(facts.BuyerUnits), "buyer_units", stock.CountOf(r.SKU, r.LimitGroup), []string{d.BuyerID}); err != nil {
			return stock.Deduction{}, err
		}
	}
	facts.Expired = *expired
	taken, merge, plan, err := r.Plan(d, *segments, facts)
	if err != nil {
		return stock.Deduction{}, err
	}
	write.Exec("insert_retake", r.SKU, id, stock.RetakeRef, taken.Quantity, facts.At)
	write.Exec("delete_parts", r.SKU, []string{id})
	write.writeBatch(merge, plan, func(a Arrays) *Statement {
		return write.Exec("retake", r.SKU, id, a.Segments[0], taken.Quantity, facts.At, a.Limited)
	})
	return taken, tx.Send(ctx, write)
}

// History implements [stock.Store].
func (b Base) History(ctx context.Context, sku, orderID string) (h stock.History, err error) {
	if h.Deduction, err = b.Deduction(ctx, sku, orderID); err != nil {
		return h, err
	}
	dates := []any{(*Time)(&h.TakenAt), (*Time)(&h.CommittedAt), (*Time)(&h.EndedAt)}
	if err := Single(ctx, b.DB, dates, "dates", sku, orderID); err != nil {
		return h, err
	}
	h.Amendments, err = All(ctx, b.DB, func(row Row) (a stock.Amendment, err error) {
		err = row.Scan(&a.Ref, &a.Verb, &a.Units, (*Micros)(&a.Extended), &a.Reason, (*Time)(&a.At), &a.Taken, &a.Ended, (*Time)(&a.EndedAt))
		return a, err
	}, "amendments_of", sku, orderID)
	return h, err
}

// Prune folds deductions of an archived SKU into its sum, or counts them. The rows of all segments are locked: so no other
// transaction gives units back, or counts buyers, meanwhile.
func Prune(ctx context.Context, tx Tx, p stock.Pruning) (pruned stock.Pruned, err error) {
	var ids []string
	held := make(map[stock.Counted]int64) // units, per buyer
	err = tx.Each(ctx, func(row Row) error {
		var id string
		var of stock.Counted
		var units int64
		err := row.Scan(&id, &of.BuyerID, &of.At, &units)
		if ids, pruned.Units = append(ids, id), pruned.Units+units; of.At != "" {
			held[of] += units
		}
		return err
	}, "prunable", p.SKU, p.OrderIDs, p.Before)
	if pruned.Deductions = int64(len(ids)); err != nil || p.DryRun || ids == nil {
		return pruned, err
	}
	fold := &Statements{}
	fold.Exec("fold_sum", p.SKU, ids)
	fold.Uncount(held)
	counts, buyers, _ := columnsOfCounted(held)
	fold.Exec("forget_buyers", counts, buyers)
	if err := MarkOrders(ctx, tx, fold, p.SKU, ids); err != nil {
		return pruned, err
	}
	for _, statement := range []string{"delete_changes", "delete_lines", "delete_amendments", "delete_additions", "delete_parts", "delete_deductions"} {
		fold.Exec(statement, p.SKU, ids)
	}
	DeleteOwnOrders(fold, ids)
	return pruned, tx.Send(ctx, fold)
}

// DeleteOwnOrders adds to statements, after those that delete lines, what deletes orders of several SKUs that buyers made and that have no
// line left: their ids begin with the buyers' ids.
func DeleteOwnOrders(write *Statements, ids []string) {
	own := slices.DeleteFunc(slices.Clone(ids), func(id string) bool {
		buyer, _ := stock.SplitOrderKey(id)
		return buyer == ""
	})
	if len(own) > 0 {
		write.Exec("delete_own_orders", own)
	}
}

// MarkOrders adds to statements what marks orders of several SKUs as pruned, of which a line of the SKU is pruned. Their rows keep a hash of
// the buyer.
func MarkOrders(ctx context.Context, tx Tx, write *Statements, sku string, ids []string) error {
	var marked, buyers []string
	err := tx.Each(ctx, func(row Row) error {
		var id, buyer string
		err := row.Scan(&id, &buyer)
		marked, buyers = append(marked, id), append(buyers, stock.PrunedBuyer(buyer))
		return err
	}, "orders_to_mark", sku, ids)
	if marked != nil {
		write.Exec("mark_orders", marked, buyers)
	}
	return err
}
