package selling

import (
	"context"
	"maps"
	"slices"
	"time"

	"inventory/internal/stock"
)

// Move restocks, adjusts or resegments a SKU, or changes its terms, as the kind says. It takes no lock: each row has its layout, and
// refuses a batch that was made for another. So all workers, in every process, learn of new segments and terms. Created is false when the same change
// was made before. A limit per buyer holds at once, but for what buyers have from before: see [stock.Status] Counting. CodeRefReused means that the ref belongs to another change. CodeInsufficientStock means that an adjustment
// would take away more than is available.
func (s *Service) Move(ctx context.Context, m stock.Movement) (created bool, err error) {
	if err := m.Check(); err != nil {
		return false, err
	}
	m.At = s.at()
	err = s.write(ctx, s.deadlineOf(ctx), func(writing context.Context) (err error) {
		if m.NeedsExpired() {
			err = s.expire(writing, m.SKU)
		}
		if err != nil {
			return err
		}
		start := time.Now()
		if created, err = s.store.Move(writing, m); m.Kind == stock.Resegmented {
			s.observe(Activity{Kind: Resegmented, Took: time.Since(start)})
		}
		if err == nil && (m.Terms.PerBuyerLimit.Set || m.Terms.LimitGroup.Set) {
			counting, cancel := context.WithTimeout(writing, s.answerWithin/2)
			defer cancel()
			s.countNow(counting, m.SKU)
		}
		return err
	})
	// Also after an error: the change may be committed.
	s.onRestock(m.SKU)
	if err != nil {
		return false, stock.Unavailable(err, string(m.Kind))
	}
	if created && m.Quantity != 0 {
		s.changed(m.SKU, max(0, m.Quantity))
	}
	return created, nil
}

// CreateSKU adds a SKU. Created is false when the same SKU was there already.
func (s *Service) CreateSKU(ctx context.Context, sku stock.NewSKU) (status stock.Status, created bool, err error) {
	if err := sku.Check(); err != nil {
		return stock.Status{}, false, err
	}
	return s.change(ctx, sku.SKU, "create SKU", func(writing context.Context) (bool, error) { return s.store.CreateSKU(writing, sku, s.at()) })
}

// TryCreateSKU returns what CreateSKU would, and leaves everything as it is.
func (s *Service) TryCreateSKU(ctx context.Context, sku stock.NewSKU) (status stock.Status, created bool, err error) {
	if err := sku.Check(); err != nil {
		return stock.Status{}, false, err
	}
	err = s.write(ctx, s.deadlineOf(ctx), func(writing context.Context) (err error) {
		created, err = s.store.TryCreateSKU(writing, sku, s.at())
		return err
	})
	if err != nil {
		return stock.Status{}, false, stock.Unavailable(err, "try to create SKU")
	}
	if created {
		return sku.Fresh(), true, nil
	}
	status, err = s.SKU(ctx, sku.SKU)
	return status, false, err
}

// Archive ends the sale of a SKU for good, and returns the SKU. An order that comes at the same
// time is sold before it, or refused. Live reservations end as they would have. A repeated call does nothing more.
func (s *Service) Archive(ctx context.Context, sku string) (stock.Status, error) {
	if err := stock.CheckSKU(sku); err != nil {
		return stock.Status{}, err
	}
	status, _, err := s.change(ctx, sku, "archive SKU", func(writing context.Context) (bool, error) { return s.store.Archive(writing, sku, s.at()) })
	return status, err
}

// change has a SKU changed as a whole, and returns it as it is then.
func (s *Service) change(
	ctx context.Context, sku, doing string, do func(writing context.Context) (changed bool, err error),
) (status stock.Status, changed bool, err error) {
	err = s.write(ctx, s.deadlineOf(ctx), func(writing context.Context) (err error) {
		changed, err = do(writing)
		return err
	})
	s.onRestock(sku) // also after an error: the change may be committed
	if err != nil {
		return stock.Status{}, false, stock.Unavailable(err, doing)
	}
	if status, err = s.SKU(ctx, sku); changed {
		err = stock.AfterWrite(err, "read the changed SKU")
	}
	return status, changed, err
}

// watchPause is how long the service waits before it listens again, once notifications have failed.
const watchPause = 500 * time.Millisecond

// watch applies notifications of other processes' restocks, until the service closes. While they fail, entries of the
// sold-out cache end by the clock alone.
func (s *Service) watch() {
	listening := func() {
		s.onMissedRestocks() // a notification may have been missed
		s.observe(Activity{Kind: NotificationsFailed})
	}
	for {
		err := s.store.Watch(s.background, listening, s.onRestock)
		if err == nil || s.background.Err() != nil {
			return
		}
		s.observe(Activity{Kind: NotificationsFailed, Err: err})
		if !s.pause(watchPause) {
			return
		}
	}
}

// onRestock makes the SKU's workers read the segments again, and invalidates its entry of the sold-out cache: there may be
// more units than they know of.
func (s *Service) onRestock(sku string) {
	s.viewed.refill(sku) // before it looks for a worker: one that begins meanwhile is told, or reads the SKU
	s.workers.RLock()
	if w := s.workers.bySKU[sku]; w != nil {
		w.notifications.Add(1)
	}
	s.workers.RUnlock()
	s.soldOut.invalidate(sku)
}

// onMissedRestocks does the same for all SKUs.
func (s *Service) onMissedRestocks() {
	s.viewed.refill(s.viewed.skus()...)
	s.workers.RLock()
	skus := slices.Collect(maps.Keys(s.workers.bySKU))
	s.workers.RUnlock()
	s.soldOut.mu.RLock()
	skus = slices.AppendSeq(skus, maps.Keys(s.soldOut.bySKU))
	s.soldOut.mu.RUnlock()
	for _, sku := range skus {
		s.onRestock(sku)
	}
}
