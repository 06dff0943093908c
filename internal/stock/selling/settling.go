package selling

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"inventory/internal/stock"
)

// Settle commits, cancels, returns or extends a deduction, and returns it as it is then. A request may be repeated: what has
// happened already is no error. If retake is set, a commit takes the units of a reservation that has ended again, if they are there.
// CodeAlreadyCommitted: a cancel of what was committed, or a commit of another quantity.
// CodeNotReserved: there is no live reservation. CodeNotCommitted: there is nothing to return. CodePartOfOrder: the lines of an
// order are settled together. CodeRefReused: another amendment of the deduction has the ref. If the request names a buyer,
// deductions of other buyers are unknown.
func (s *Service) Settle(ctx context.Context, sku string, to stock.SettleRequest, retake bool) (stock.Deduction, error) {
	if err := cmp.Or(stock.CheckSKU(sku), to.Check()); err != nil {
		return stock.Deduction{}, err
	}
	deadline, orderID := s.deadlineOf(ctx), to.OrderID // from before what is looked up
	to, err := s.lookUpDeduction(ctx, deadline, sku, to)
	if err != nil {
		return stock.Deduction{}, err
	}
	d, err := s.settleKey(ctx, deadline, sku, to)
	if retake && mayRetake(to, err) {
		var taken []stock.Deduction
		if taken, err = s.retake(ctx, deadline, stock.OrderSettlement{Request: to, SKUs: []string{sku}}); err == nil {
			d = taken[0]
		}
	}
	if err != nil {
		return stock.Deduction{}, err
	}
	d.OrderID = orderID
	return d, nil
}

// lookUpDeduction adds to a request what it has to know of the deduction.
func (s *Service) lookUpDeduction(ctx context.Context, deadline time.Time, sku string, to stock.SettleRequest) (stock.SettleRequest, error) {
	looking, cancel := context.WithDeadline(ctx, deadline)
	defer cancel()
	key, err := s.keyOf(looking, sku, to.OrderID, to.BuyerID)
	if to.OrderID = key; err != nil || to.Verb != stock.Extend {
		return to, err
	}
	most, err := s.longestReservations(looking, sku)
	to.MostExtend = most[sku]
	return to, err
}

// mayRetake reports whether a commit was refused because its reservation has ended, and may take the units again.
func mayRetake(commit stock.SettleRequest, err error) bool {
	e, ok := errors.AsType[*stock.Error](err)
	return ok && e.Code == stock.CodeNotReserved && commit.MayRetake(e.Status)
}

// retake takes the units of the reservations that have ended that one order id has of some SKUs again, all or none.
func (s *Service) retake(ctx context.Context, deadline time.Time, o stock.OrderSettlement) (taken []stock.Deduction, err error) {
	skus := o.SKUs
	err = s.write(ctx, deadline, func(writing context.Context) error {
		for tries, freed := 1, 0; ; tries++ {
			overtaken(writing, tries)
			views, err := s.views(writing, skus...)
			if err != nil {
				return err
			}
			retakes := stock.Column(skus, func(sku string) stock.Retake {
				return stock.Retake{
					SKU: sku, Layout: views[sku].Layout, Limit: views[sku].Terms.PerBuyerLimit, LimitGroup: views[sku].Terms.LimitGroup,
					Request: o.RequestOf(sku), At: s.at(),
				}
			})
			taken, err = s.store.Retake(writing, deadline, retakes...)
			stale := errors.Is(err, stock.ErrStale)
			if (stale || errors.Is(err, stock.ErrLayout)) && writing.Err() == nil {
				if err := s.expireAll(writing, skus...); stale && err != nil {
					return err
				}
				continue
			}
			if s.freedInGroup(writing, err, &freed) {
				continue
			}
			for _, sku := range skus {
				s.onRestock(sku) // expired reservations may have come back with it
				s.changed(sku, 0)
			}
			s.noteGuard(skus[0], err)
			if err != nil {
				return stock.Unavailable(err, "retake")
			}
			return nil
		}
	})
	return taken, err
}

// longestReservations returns how long a reservation of each SKU may last.
func (s *Service) longestReservations(ctx context.Context, skus ...string) (map[string]time.Duration, error) {
	views, err := s.views(ctx, skus...)
	most := make(map[string]time.Duration, len(skus))
	for sku, view := range views {
		most[sku] = cmp.Or(view.Terms.MaxReserveFor, s.maxReserve)
	}
	return most, err
}

// settleKey settles the deduction of a key, not after the deadline.
func (s *Service) settleKey(ctx context.Context, deadline time.Time, sku string, to stock.SettleRequest) (stock.Deduction, error) {
	r := newRequest(ctx, deadline, stock.Order{OrderID: to.OrderID, BuyerID: to.BuyerID})
	r.settle = to
	if err := s.enqueue(sku, r); err != nil {
		return stock.Deduction{}, err
	}
	a := await(ctx, r)
	return a.Deduction, a.Err
}

// runSettling serves the queue of settle requests until nothing waits: one write carries out all that are queued. It needs no lock: a
// commit or an extension changes no segment, and units that come back are added to rows relatively.
func (w *worker) runSettling() {
	defer w.service.workers.running.Done()
	for {
		if batch := w.settling.pop(batchLimit); len(batch) > 0 {
			w.settle(batch)
		} else if w.settling.leave() {
			return
		}
	}
}

func (w *worker) settle(batch []*request) {
	ctx, cancel := context.WithDeadline(w.service.base, lastDeadline(batch))
	defer cancel()
	var err error
	for len(batch) > 0 && err == nil {
		batch, err = w.service.isolate(w.sku, batch, func(requests []*request) ([]*request, error) { return nil, w.writeSettlement(ctx, requests) })
		if err == nil {
			err = stock.Unwritten(context.Cause(ctx))
		}
	}
	refuseAll(batch, stock.Unavailable(err, "settle"))
}

// writeSettlement settles requests in one transaction, and answers them.
func (w *worker) writeSettlement(ctx context.Context, requests []*request) error {
	s := w.service
	start := time.Now()
	results, err := s.store.Settle(ctx, stock.Settlement{
		SKU: w.sku, Deadline: firstDeadline(requests), At: s.at(),
		Requests: stock.Column(requests, func(r *request) stock.SettleRequest { return r.settle }),
	})
	units, maybe := int64(0), err != nil
	for i, result := range results {
		units += result.Returned
		maybe = maybe || result.Err == nil && requests[i].settle.MayReturn()
	}
	s.cameBack(w.sku, units, maybe)
	if err != nil {
		return err
	}
	s.observe(Activity{Kind: SettlementWritten, Count: len(requests), Took: time.Since(start)})
	for i, r := range requests {
		r.reply(Result{Deduction: results[i].Deduction, Err: results[i].Err})
	}
	return nil
}

// cameBack tells of units that have come back, or may have: also after an error, and if another process has just given them back. It is
// called before a request is answered: the next order of a caller finds the units. A commit that finds an expired reservation gives its
// units back, too.
func (s *Service) cameBack(sku string, units int64, maybe bool) {
	if maybe || units > 0 {
		s.onRestock(sku)
	}
	if units > 0 {
		s.changed(sku, units)
	}
}

// PlacedOrder returns the lines of an order of several SKUs as they are now, ascending by SKU. Namespaces are as in
// [Service.Deduction]. CodeUnknownOrder: there is none, or its lines were pruned.
func (s *Service) PlacedOrder(ctx context.Context, orderID, buyerID string) (stock.PlacedOrder, error) {
	keys, err := orderKeys(orderID, buyerID)
	if err != nil {
		return stock.PlacedOrder{}, err
	}
	there, _, err := s.findOrder(ctx, keys, buyerID)
	if err != nil {
		return stock.PlacedOrder{}, err
	}
	if there.Lines, err = s.linesUpToDate(ctx, there.Lines); err != nil {
		return stock.PlacedOrder{}, err
	}
	for i := range there.Lines {
		there.Lines[i].OrderID = orderID
	}
	return there, nil
}

// orderKeys returns the keys that an order may have: for a buyer, that of the buyer's own order before that of the shop's.
func orderKeys(orderID, buyerID string) ([]string, error) {
	if err := stock.CheckKnownID("order_id", orderID); err != nil || buyerID == "" {
		return []string{orderID}, err
	}
	return []string{stock.OrderKey(buyerID, orderID), orderID}, stock.CheckKnownID("buyer_id", buyerID)
}

// findOrder returns an order and its key: of the first key that is an order of the buyer, or of anybody without a buyerID.
func (s *Service) findOrder(ctx context.Context, keys []string, buyerID string) (stock.PlacedOrder, string, error) {
	for _, key := range keys {
		there, err := read(ctx, s, nil, "read order", func() (*stock.PlacedOrder, error) { return s.store.PlacedOrder(ctx, key) })
		if err != nil {
			return stock.PlacedOrder{}, "", err
		}
		if there != nil && !there.Pruned && (buyerID == "" || buyerID == there.BuyerID) {
			return *there, key, nil
		}
	}
	return stock.PlacedOrder{}, "", stock.UnknownOrder(keys[0])
}

// SettleOrder commits, cancels, extends or returns all lines of an order of several SKUs, or none, and returns the order as it is
// then. A refusal has the code of the first line that is refused, and names all of them. If retake is set, a commit takes the units of
// reservations that have ended again, of all lines or of none.
//
// The store may settle the usual order without a look at it. Otherwise the order is looked up first.
func (s *Service) SettleOrder(ctx context.Context, to stock.SettleRequest, retake bool) (stock.PlacedOrder, error) {
	return s.settleOrder(ctx, to, nil, retake)
}

// CommitLines commits these lines of an order, each with that many units, and releases all others, in one transaction and for good, with
// retake as in [Service.SettleOrder].
func (s *Service) CommitLines(ctx context.Context, to stock.SettleRequest, lines []stock.Line, retake bool) (stock.PlacedOrder, error) {
	sorted := stock.OrderChange{Lines: lines}.Sorted().Lines
	if err := stock.CheckLines(lines); err != nil {
		return stock.PlacedOrder{}, err
	}
	return s.settleOrder(ctx, to, sorted, retake)
}

// settleOrder settles an order. lines are those that a commit is for; nil: all.
func (s *Service) settleOrder(ctx context.Context, to stock.SettleRequest, only []stock.Line, retake bool) (stock.PlacedOrder, error) {
	if err := to.Check(); err != nil {
		return stock.PlacedOrder{}, err
	}
	deadline, orderID := s.deadlineOf(ctx), to.OrderID
	keys, err := orderKeys(orderID, to.BuyerID)
	if err != nil {
		return stock.PlacedOrder{}, err
	}
	to.InOrder, to.MostExtend = true, s.maxReserve
	o := stock.OrderSettlement{Request: to, Commit: only, Keys: keys, Deadline: deadline, At: s.at()}
	var lines []stock.Deduction
	if only == nil {
		lines, err = s.settleLines(ctx, o)
	}
	for tries := 1; lines == nil && (err == nil || errors.Is(err, stock.ErrRevised)); tries++ {
		overtaken(ctx, tries)
		if o, lines, err = s.lookUp(ctx, o); err == nil && lines == nil {
			lines, err = s.settleLines(ctx, o)
		}
		if retake && mayRetake(o.Request, err) {
			lines, err = s.retake(ctx, deadline, o)
		}
		if ctx.Err() != nil {
			break
		}
	}
	if err == nil && to.Verb == stock.Commit && !slices.ContainsFunc(lines, func(d stock.Deduction) bool { return d.Status.Live() }) {
		err = refusalOfAll(lines, stock.AlreadyCommitted)
	}
	if err != nil {
		return stock.PlacedOrder{}, stock.Unavailable(err, "settle order")
	}
	if only != nil { // the others have left the order
		lines = slices.DeleteFunc(lines, func(d stock.Deduction) bool { return !d.Status.Live() && !listed(only, d.SKU) })
	}
	for i := range lines {
		lines[i].OrderID = orderID
	}
	return stock.PlacedOrder{BuyerID: lines[0].BuyerID, ReserveFor: lines[0].ReserveFor, Lines: lines}, nil
}

// listed reports whether a SKU is among lines.
func listed(lines []stock.Line, sku string) bool {
	return slices.ContainsFunc(lines, func(l stock.Line) bool { return l.SKU == sku })
}

// lookUp adds to a settlement of an order what it has to know of it. If it was carried out before, on lines that a change has removed since,
// lookUp returns the lines as they are now.
func (s *Service) lookUp(ctx context.Context, o stock.OrderSettlement) (found stock.OrderSettlement, done []stock.Deduction, err error) {
	looking, cancel := context.WithDeadline(ctx, o.Deadline)
	defer cancel()
	there, key, err := s.findOrder(looking, o.Keys, o.Request.BuyerID)
	if err != nil {
		return o, nil, err
	}
	o.Request.OrderID, o.Request.Revision = key, there.Revision
	for _, d := range there.Removed {
		if listed(o.Commit, d.SKU) { // it is refused for what has become of it
			there.Lines = append(there.Lines, d)
		}
	}
	o.SKUs = slices.Sorted(slices.Values(stock.Column(there.Lines, func(d stock.Deduction) string { return d.SKU })))
	for i, line := range o.Commit {
		if !slices.Contains(o.SKUs, line.SKU) {
			return o, nil, stock.Invalid(fmt.Sprintf("lines[%d].sku", i), "must be that of a line of the order")
		}
	}
	if o.Request.Verb != stock.Extend {
		return o, nil, nil
	}
	before, err := s.extendedBefore(looking, there.Removed, o.Request)
	if err != nil {
		return o, nil, err
	}
	if before {
		done, err = s.linesUpToDate(looking, there.Lines)
		return o, done, err
	}
	o.MostExtend, err = s.longestReservations(looking, o.SKUs...)
	return o, nil, err
}

// extendedBefore reports whether lines that are none any more have the extension.
func (s *Service) extendedBefore(ctx context.Context, removed []stock.Deduction, extension stock.SettleRequest) (bool, error) {
	for _, d := range removed {
		h, err := s.store.History(ctx, d.SKU, extension.OrderID)
		if err != nil {
			return false, stock.Unavailable(stock.Unwritten(err), "look up the extension")
		}
		for _, a := range h.Amendments {
			if is, err := extension.Replays(a); is {
				return true, err
			}
		}
	}
	return false, nil
}

// settleLines settles the lines of an order in one transaction. It returns nil if the order has to be looked up first.
func (s *Service) settleLines(ctx context.Context, o stock.OrderSettlement) ([]stock.Deduction, error) {
	start := time.Now()
	var results []stock.Settled
	err := s.write(ctx, o.Deadline, func(writing context.Context) (err error) {
		results, err = s.store.SettleOrder(writing, o)
		return err
	})
	if o.SKUs == nil { // and if that has failed, the store's notification tells which units are back
		o.SKUs = stock.Column(results, func(r stock.Settled) string { return r.Deduction.SKU })
	}
	for i, sku := range o.SKUs {
		units, maybe := int64(0), err != nil
		if err == nil {
			units, maybe = results[i].Returned, results[i].Err == nil && o.Request.MayReturn()
		}
		s.cameBack(sku, units, maybe)
	}
	if len(o.SKUs) > 0 {
		s.noteGuard(o.SKUs[0], err)
	}
	if err != nil {
		return nil, stock.Unavailable(err, "settle order")
	}
	if results == nil {
		return nil, nil
	}
	s.observe(Activity{Kind: SettlementWritten, Count: len(results), Took: time.Since(start)})
	if err := o.Refusal(results); err != nil {
		return nil, err
	}
	return stock.Column(results, func(r stock.Settled) stock.Deduction { return r.Deduction }), nil
}
