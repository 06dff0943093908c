package selling

import (
	"context"

	"inventory/internal/stock"
)

// mostReads is how many callers read at once. A store has more connections: the others are for what writes.
const mostReads = 8

// reading waits until a caller may read.
func (s *Service) reading(ctx context.Context) (done func(), err error) {
	select {
	case s.reads <- struct{}{}: // without a look at the caller, who may have left: the read finds out
		return func() { <-s.reads }, nil
	default:
	}
	select {
	case s.reads <- struct{}{}:
		return func() { <-s.reads }, nil
	case <-ctx.Done():
		return nil, stock.Unavailable(context.Cause(ctx), "wait to read")
	}
}

// SKU returns a SKU's totals and segments.
func (s *Service) SKU(ctx context.Context, sku string) (stock.Status, error) {
	if err := stock.CheckSKU(sku); err != nil {
		return stock.Status{}, err
	}
	done, err := s.reading(ctx)
	if err != nil {
		return stock.Status{}, err
	}
	defer done()
	status, err := s.store.Status(ctx, sku, s.at())
	if err == nil && status.Stale {
		// What could not be given back is told as reserved, which it is.
		if _, err := s.expire(ctx, sku); err != nil {
			s.log.Debug("expired reservations not given back before a read", "sku", sku, "error", err)
		}
		status, err = s.store.Status(ctx, sku, s.at())
	}
	if err != nil {
		return stock.Status{}, stock.Unavailable(err, "read SKU")
	}
	return status, nil
}

// MaxSKUPage bounds how many SKUs are read at once: of each, all segments are summed up.
const MaxSKUPage = 200

// SKUs returns the totals of SKUs in the order of their bytes, from behind one on; "" is before all. Reservations whose
// time has come count as reserved until they are ended, which takes a second or so.
func (s *Service) SKUs(ctx context.Context, after string, limit int) ([]stock.Summary, error) {
	if after != "" {
		if err := stock.CheckSKU(after); err != nil {
			return nil, stock.Invalid("after", "must be the next of an earlier answer")
		}
	}
	if limit < 1 || limit > MaxSKUPage {
		return nil, stock.Invalid("limit", "must be 1 to %d", MaxSKUPage)
	}
	done, err := s.reading(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	summaries, err := s.store.Summaries(ctx, after, limit)
	if err != nil {
		return nil, stock.Unavailable(err, "read SKUs")
	}
	return summaries, nil
}

// Deduction returns the deduction of an order id as it is now, with what each segment gave: that of the shop, or where buyerID
// is not "", of the buyer's own order of that id, or else of the shop's for that buyer.
func (s *Service) Deduction(ctx context.Context, sku, orderID, buyerID string) (stock.Deduction, error) {
	if err := stock.CheckSKU(sku); err != nil {
		return stock.Deduction{}, err
	}
	if err := stock.CheckKnownID("order_id", orderID); err != nil {
		return stock.Deduction{}, err
	}
	d, err := s.readDeduction(ctx, sku, orderID, buyerID)
	if err != nil {
		return stock.Deduction{}, stock.Unavailable(err, "read deduction")
	}
	if buyerID != "" && buyerID != d.BuyerID {
		return stock.Deduction{}, stock.UnknownDeduction(sku, orderID)
	}
	parts := d.Parts
	d, err = s.tellable(ctx, d)
	d.OrderID, d.Parts = orderID, parts
	return d, err
}

func (s *Service) readDeduction(ctx context.Context, sku, orderID, buyerID string) (stock.Deduction, error) {
	done, err := s.reading(ctx)
	if err != nil {
		return stock.Deduction{}, err
	}
	defer done()
	key, err := s.keyOf(ctx, sku, orderID, buyerID)
	if err != nil {
		return stock.Deduction{}, err
	}
	return s.store.Deduction(ctx, sku, key)
}

// keyOf finds the key that an order id of a SKU has: for a buyer, that of their own order where there is one.
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
		return "", stock.Unavailable(err, "look up the order id")
	}
	if _, ok := known[own]; ok {
		return own, nil
	}
	return orderID, nil
}

// Audit recomputes the balance of a SKU from its rows, of all SKUs if it is "".
func (s *Service) Audit(ctx context.Context, sku string) (stock.Audit, error) {
	if sku != "" {
		if err := stock.CheckSKU(sku); err != nil {
			return stock.Audit{}, err
		}
	}
	done, err := s.reading(ctx)
	if err != nil {
		return stock.Audit{}, err
	}
	defer done()
	audit, err := s.store.Audit(ctx, sku)
	switch {
	case err != nil:
		return stock.Audit{}, stock.Unavailable(err, "audit")
	case sku != "" && len(audit.SKUs) == 0:
		return stock.Audit{}, stock.UnknownSKU(sku)
	default:
		return audit, nil
	}
}

// mostScanned bounds the rows that one page of deductions is looked for in.
const mostScanned = 5000

// Deductions returns a page of a SKU's deductions, in the order of their order keys' bytes. A page has MaxPage of them at
// most. Of those that are meant it may have few or none, and go on all the same. A reservation whose time has come is told
// as reserved until it is ended.
func (s *Service) Deductions(ctx context.Context, query stock.DeductionQuery) (stock.DeductionPage, error) {
	query.Scan = mostScanned
	if err := query.Check(); err != nil {
		return stock.DeductionPage{}, err
	}
	if query.Limit < 1 || query.Limit > MaxPage {
		return stock.DeductionPage{}, stock.Invalid("limit", "must be 1 to %d", MaxPage)
	}
	done, err := s.reading(ctx)
	if err != nil {
		return stock.DeductionPage{}, err
	}
	defer done()
	page, err := s.store.DeductionPage(ctx, query)
	if err != nil {
		return stock.DeductionPage{}, stock.Unavailable(err, "read deductions")
	}
	return page, nil
}
