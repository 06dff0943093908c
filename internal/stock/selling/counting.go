package selling

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"inventory/internal/stock"
)

// A change of a SKU's buyer limit leaves its earlier orders to be counted, or no longer to be. It does so page by page while the SKU
// sells: at once, by the request that has changed the limit, for as long as it may take; then in the background, by any process.
const (
	countEvery  = time.Second
	countedSKUs = 16 // that one look finds
	// How many deductions a transaction counts: as many as take it about so long. Orders of their buyers wait for it.
	firstPage, mostPage = 100, 2000
	pageTakes           = 25 * time.Millisecond
)

// countInBackground goes on with what requests have not finished, until the service closes.
func (s *Service) countInBackground() {
	for s.pause(countEvery/2 + rand.N(countEvery)) { // processes take turns
		if err := s.countOnce(s.background); err != nil && !errors.Is(err, stock.ErrHeld) && s.background.Err() == nil {
			s.log.Warn("earlier orders of SKUs with a new buyer limit are not counted yet", "error", err)
		}
	}
}

// countOnce counts the earlier orders of SKUs, each until that is done or fails.
func (s *Service) countOnce(ctx context.Context) error {
	look, cancel := context.WithTimeout(ctx, writeLimit)
	skus, failed := s.store.BeingCounted(look, countedSKUs)
	cancel()
	for _, sku := range skus {
		page := firstPage
		for left, err := true, error(nil); left && err == nil; failed = errors.Join(failed, err) {
			left, err = s.countSome(ctx, sku, &page)
		}
	}
	return failed
}

// countNow counts the earlier orders of a SKU, unless that takes longer than until its context ends.
func (s *Service) countNow(ctx context.Context, sku string) {
	page := firstPage
	for left, err := true, error(nil); left && ctx.Err() == nil; {
		if left, err = s.countSome(ctx, sku, &page); errors.Is(err, stock.ErrHeld) {
			left = true
		} else if err != nil {
			s.log.Debug("earlier orders are counted later", "sku", sku, "error", err)
			return
		}
	}
}

// countSome counts a page, and rests for as long as that took. It reports whether some are left. Expired reservations are ended
// before: while a page has its rows, orders find no units in it. The page grows or shrinks by how long it took.
func (s *Service) countSome(ctx context.Context, sku string, page *int) (left bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, writeLimit)
	defer cancel()
	began := time.Now()
	if err = s.expire(ctx, sku); err == nil {
		began = time.Now()
		left, err = s.store.CountEarlier(ctx, sku, *page)
	}
	took := time.Since(began)
	switch {
	case took < pageTakes/2:
		*page = min(2**page, mostPage)
	case took > pageTakes:
		*page = max(*page/2, 1)
	}
	if left || err != nil {
		select {
		case <-time.After(min(max(took, time.Millisecond), countEvery)):
		case <-ctx.Done():
		}
	}
	return left, err
}
