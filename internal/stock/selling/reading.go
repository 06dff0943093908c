package selling

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"inventory/internal/stock"
)

// mostReads is how many callers read at once. A store has more connections: the others are for writes. Long reads, of many statements,
// leave most places to callers who buy.
const (
	mostReads     = 8
	mostLongReads = 2
)

// read waits until a caller may read, and calls from, unless a check has found an error in what is asked for.
func read[T any](ctx context.Context, s *Service, check error, doing string, from func() (T, error)) (found T, err error) {
	if check != nil {
		return found, check
	}
	if !s.reads.TryAcquire(1) { // without a check of ctx: the read makes one
		if err := s.reads.Acquire(ctx, 1); err != nil {
			return found, stock.Unavailable(stock.Unwritten(err), "wait to read")
		}
	}
	defer s.reads.Release(1)
	found, err = from()
	if err != nil {
		err = stock.Unavailable(stock.Unwritten(err), doing)
	}
	return found, err
}

// longRead is read for what takes many statements.
func longRead[T any](ctx context.Context, s *Service, check error, doing string, from func() (T, error)) (found T, err error) {
	if check != nil {
		return found, check
	}
	if err := s.longReads.Acquire(ctx, 1); err != nil {
		return found, stock.Unavailable(stock.Unwritten(err), "wait to read")
	}
	defer s.longReads.Release(1)
	return read(ctx, s, nil, doing, from)
}

// MaxPage bounds how many movements or deductions are read at once.
const MaxPage = 1000

func checkLimit(limit, most int) error {
	if limit < 1 || limit > most {
		return stock.Invalid("limit", "must be 1 to %d", most)
	}
	return nil
}

// views reads what writers have to know of SKUs, all of which must be there.
func (s *Service) views(ctx context.Context, skus ...string) (map[string]stock.View, error) {
	views, err := s.store.Views(ctx, skus...)
	if err != nil {
		return nil, stock.Unavailable(stock.Unwritten(err), "look at the SKU")
	}
	for _, sku := range skus {
		if _, there := views[sku]; !there {
			return nil, stock.UnknownSKU(sku)
		}
	}
	return views, nil
}

// view reads what a worker has to know of a SKU.
func (s *Service) view(ctx context.Context, sku string) (stock.View, error) {
	views, err := s.views(ctx, sku)
	return views[sku], err
}

// SKU returns a SKU's totals and segments.
func (s *Service) SKU(ctx context.Context, sku string) (stock.Status, error) {
	return read(ctx, s, stock.CheckSKU(sku), "read SKU", func() (stock.Status, error) {
		status, err := s.store.Status(ctx, sku, s.at())
		if err != nil || !status.Stale {
			return status, err
		}
		if !s.expireToShow(ctx, sku) { // those units are then shown as reserved, which they are
			return status, nil
		}
		return s.store.Status(ctx, sku, s.at())
	})
}

// expireToShow gives back the units of a SKU's expired reservations, and reports whether it could. Somebody may hold the SKU's rows: few readers
// wait for them at once, and no longer than an order does.
func (s *Service) expireToShow(ctx context.Context, sku string) bool {
	if !s.longReads.TryAcquire(1) {
		return false
	}
	defer s.longReads.Release(1)
	waiting, cancel := context.WithDeadline(ctx, s.deadlineOf(ctx))
	defer cancel()
	err := s.expire(waiting, sku)
	if err != nil {
		s.log.Debug("expired reservations not given back before a read", "sku", sku, "error", err)
	}
	return err == nil
}

// MaxSKUPage bounds how many SKUs are read at once: for each of them all segments are summed up.
const MaxSKUPage = 200

// SKUs returns the totals of the SKUs after one, in the order of their bytes; "" is before all. Expired reservations count as
// reserved until they are ended, which takes approximately a second.
func (s *Service) SKUs(ctx context.Context, after string, limit int) ([]stock.Status, error) {
	if after != "" && stock.CheckSKU(after) != nil {
		return nil, stock.Invalid("after", "must be the next of an earlier answer")
	}
	return read(ctx, s, checkLimit(limit, MaxSKUPage), "read SKUs", func() ([]stock.Status, error) { return s.store.Statuses(ctx, after, limit) })
}

// Deduction returns the deduction of an order id as it is now, with its parts. Without a buyerID it is the shop's order. With
// one it is the buyer's own order of that id, or otherwise the shop's order for that buyer.
func (s *Service) Deduction(ctx context.Context, sku, orderID, buyerID string) (stock.Deduction, error) {
	asked := cmp.Or(stock.CheckSKU(sku), stock.CheckKnownID("order_id", orderID))
	d, err := read(ctx, s, asked, "read deduction", func() (stock.Deduction, error) {
		key, err := s.keyOf(ctx, sku, orderID, buyerID)
		if err != nil {
			return stock.Deduction{}, err
		}
		return s.store.Deduction(ctx, sku, key)
	})
	if err != nil {
		return stock.Deduction{}, err
	}
	if buyerID != "" && buyerID != d.BuyerID {
		return stock.Deduction{}, stock.UnknownDeduction(sku, orderID)
	}
	parts, inOrder := d.Parts, d.InOrder
	d, err = s.upToDate(ctx, s.deadlineOf(ctx), d)
	d.OrderID, d.Parts, d.InOrder = orderID, parts, inOrder
	return d, err
}

// History returns what happened to a deduction, as Deduction finds it.
func (s *Service) History(ctx context.Context, sku, orderID, buyerID string) (stock.History, error) {
	if _, err := s.Deduction(ctx, sku, orderID, buyerID); err != nil { // which ends it if it has expired
		return stock.History{}, err
	}
	return read(ctx, s, nil, "read history", func() (stock.History, error) {
		key, err := s.keyOf(ctx, sku, orderID, buyerID)
		if err != nil {
			return stock.History{}, err
		}
		h, err := s.store.History(ctx, sku, key)
		h.OrderID = orderID
		return h, err
	})
}

// upToDate returns a deduction as a caller may see it: an expired reservation is ended first. Otherwise a commit in flight
// could contradict what the caller has seen.
func (s *Service) upToDate(ctx context.Context, deadline time.Time, d stock.Deduction) (stock.Deduction, error) {
	if !s.mayBeDue(d) {
		return d, nil
	}
	return s.settleKey(ctx, deadline, d.SKU, stock.SettleRequest{Verb: stock.Expire, OrderID: d.OrderID})
}

// linesUpToDate is upToDate for the lines of an order, ascending by SKU. Those that have expired are ended together: one after the
// other they could be seen before and after their units were taken again.
func (s *Service) linesUpToDate(ctx context.Context, lines []stock.Deduction) ([]stock.Deduction, error) {
	if !slices.ContainsFunc(lines, s.mayBeDue) {
		return lines, nil
	}
	return s.settleLines(ctx, stock.OrderSettlement{
		Request:  stock.SettleRequest{Verb: stock.Expire, OrderID: lines[0].OrderID},
		SKUs:     stock.Column(lines, func(d stock.Deduction) string { return d.SKU }),
		Deadline: s.deadlineOf(ctx), At: s.at(),
	})
}

// keyOf finds the order key of an order id: for a buyer, the key of the buyer's own order if there is one.
func (s *Service) keyOf(ctx context.Context, sku, orderID, buyerID string) (key string, err error) {
	if buyerID == "" {
		return orderID, nil
	}
	if err := stock.CheckKnownID("buyer_id", buyerID); err != nil {
		return "", err
	}
	own := stock.OrderKey(buyerID, orderID)
	known, err := s.store.Deductions(ctx, sku, []string{own})
	if err != nil {
		return "", stock.Unavailable(stock.Unwritten(err), "look up the order id")
	}
	if _, ok := known[own]; ok {
		return own, nil
	}
	return orderID, nil
}

// mostAudited bounds the deductions of an audit that somebody waits for: a database reads as many in a second or two.
const mostAudited = 100_000

// Audit recomputes the balance of a SKU from its rows, of all SKUs if it is "". It refuses at once, with [stock.CodeTooManyOrders], if they
// have more than 100,000 deductions together: the command inventory audit has no bound.
func (s *Service) Audit(ctx context.Context, sku string) (stock.Audit, error) {
	var asked error
	if sku != "" {
		asked = stock.CheckSKU(sku)
	}
	return read(ctx, s, asked, "audit", func() (stock.Audit, error) {
		more, err := s.store.HasMoreOrders(ctx, sku, mostAudited)
		if err != nil {
			return stock.Audit{}, err
		}
		if more {
			return stock.Audit{}, stock.TooManyOrders(sku, mostAudited)
		}
		return s.store.Audit(ctx, sku, nil)
	})
}

// mostScanned bounds the rows that are scanned for one page of deductions.
const mostScanned = 5000

// Deductions returns a page of a SKU's deductions, in the order of their order keys' bytes. A page has at most
// MaxPage of them. With a filter it may have few or none, and still have a next page. An expired reservation is shown as
// reserved until it is ended.
func (s *Service) Deductions(ctx context.Context, query stock.DeductionQuery) (stock.DeductionPage, error) {
	query.Scan = mostScanned
	asked := cmp.Or(query.Check(), checkLimit(query.Limit, MaxPage))
	return read(ctx, s, asked, "read deductions", func() (stock.DeductionPage, error) { return s.store.DeductionPage(ctx, query) })
}

// OrderLines returns a page of the lines of all orders, by when they were created. A page has at most MaxPage of them. With a filter it
// may have few or none, and still have a next page.
func (s *Service) OrderLines(ctx context.Context, query stock.OrderQuery) (stock.LinePage, error) {
	query.Scan = mostScanned
	asked := cmp.Or(query.Check(), checkLimit(query.Limit, MaxPage))
	return read(ctx, s, asked, "read orders", func() (stock.LinePage, error) {
		if listed, err := s.store.OrdersListed(ctx); err != nil {
			return stock.LinePage{}, err
		} else if !listed {
			return stock.LinePage{}, stock.OrdersNotListed()
		}
		return s.store.OrderLines(ctx, query)
	})
}

// OrderHistory returns what happened to an order of several SKUs and to its lines.
func (s *Service) OrderHistory(ctx context.Context, orderID, buyerID string) (stock.OrderHistory, error) {
	keys, err := orderKeys(orderID, buyerID)
	if err != nil {
		return stock.OrderHistory{}, err
	}
	there, key, err := s.findOrder(ctx, keys, buyerID)
	if err == nil {
		_, err = s.linesUpToDate(ctx, there.Lines)
	}
	if err != nil {
		return stock.OrderHistory{}, err
	}
	return longRead(ctx, s, nil, "read history", func() (all stock.OrderHistory, err error) {
		for _, d := range append(there.Lines, there.Removed...) {
			h, err := s.store.History(ctx, d.SKU, key)
			if err != nil {
				return all, err
			}
			all.Lines = append(all.Lines, h)
		}
		slices.SortFunc(all.Lines, func(a, b stock.History) int { return cmp.Compare(a.SKU, b.SKU) })
		all.HandOvers, err = s.store.HandOvers(ctx, key)
		return all, err
	})
}

// mostNamed bounds the orders that a refusal names.
const mostNamed = 20

// NameOrders adds to a refusal by a buyer limit which orders of the buyer use the limit up: those of a namespace, which is the
// caller's. It reads them once the refusal is made, so that other orders do not pay for it. If they cannot be read, the refusal is
// true without them.
func (s *Service) NameOrders(ctx context.Context, refusal error, namespace string) error {
	e, ok := errors.AsType[*stock.Error](refusal)
	if !ok || e.LimitOf == "" {
		return refusal
	}
	ctx, cancel := context.WithDeadline(ctx, s.deadlineOf(ctx))
	defer cancel()
	orders, err := read(ctx, s, nil, "read the buyer's orders", func() ([]stock.Deduction, error) {
		return s.store.BuyerOrders(ctx, e.CountedAt(), e.LimitOf, namespace != "", mostNamed)
	})
	if err != nil {
		s.log.Debug("the orders that use a buyer limit up are not named", "sku", e.SKU, "error", err)
		return refusal
	}
	named := *e
	for _, d := range orders {
		if _, orderID := stock.SplitOrderKey(d.OrderID); !s.mayBeDue(d) {
			named.OrderIDs = append(named.OrderIDs, orderID)
		}
	}
	named.OrderIDs = slices.Compact(named.OrderIDs) // an order of several SKUs of a group counts once for each
	return &named
}

// Movements reads a SKU's ledger after a position, the oldest first; the zero Position is before all. A reader that continues
// after the last one of a page misses none.
func (s *Service) Movements(ctx context.Context, sku string, after stock.Position, limit int) ([]stock.Movement, error) {
	asked := cmp.Or(stock.CheckSKU(sku), checkLimit(limit, MaxPage))
	return read(ctx, s, asked, "read movements", func() ([]stock.Movement, error) { return s.store.Movements(ctx, sku, after, limit) })
}

// NewestMovements reads a SKU's ledger before a position, the newest first; the zero Position is behind all.
func (s *Service) NewestMovements(ctx context.Context, sku string, before stock.Position, limit int) ([]stock.Movement, error) {
	asked := cmp.Or(stock.CheckSKU(sku), checkLimit(limit, MaxPage))
	return read(ctx, s, asked, "read movements", func() ([]stock.Movement, error) { return s.store.NewestMovements(ctx, sku, before, limit) })
}
