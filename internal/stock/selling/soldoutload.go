package selling

import (
	"context"
	"slices"
	"time"

	"inventory/internal/stock"
)

// cacheSoldOut creates the entry of a SKU that has sold out, or has the existing one refreshed.
func (s *Service) cacheSoldOut(sku string) {
	s.soldOut.mu.Lock()
	defer s.soldOut.mu.Unlock()
	if known := s.soldOut.bySKU[sku]; known != nil {
		signal(known.refreshWanted)
		return
	}
	e := &soldOutEntry{service: s, sku: sku, refreshWanted: make(chan struct{}, 1), refusal: stock.SoldOutError(sku)}
	e.ctx, e.invalidate = context.WithCancel(s.background)
	s.soldOut.bySKU[sku] = e
	s.workers.running.Go(e.run)
}

// dropEntry removes an entry that has ended. If the SKU has sold out again, it creates the next one.
func (s *Service) dropEntry(e *soldOutEntry) {
	s.soldOut.mu.Lock()
	delete(s.soldOut.bySKU, e.sku)
	if e.accepted != nil {
		s.soldOut.counted -= e.accepted.n
	}
	s.soldOut.mu.Unlock()
	if len(e.refreshWanted) > 0 && s.background.Err() == nil {
		s.cacheSoldOut(e.sku)
	}
}

// run loads the entry, and refreshes it until the fact has ended. The rest after it bounds the cost of a SKU that sells out
// again and again.
func (e *soldOutEntry) run() {
	defer e.service.dropEntry(e)
	known, rest := e.load()
	if known {
		e.keepFresh()
	}
	e.invalidate()
	select {
	case <-time.After(rest):
	case <-e.service.background.Done():
	}
}

// load reads the ids, if the SKU is sold out and they fit, and returns how long to rest before the next load. One SKU loads
// at a time, so cacheLimit holds for all of them.
func (e *soldOutEntry) load() (known bool, rest time.Duration) {
	s := e.service
	select {
	case s.soldOut.loading <- struct{}{}:
		defer func() { <-s.soldOut.loading }()
	case <-e.ctx.Done():
		return false, 0
	}
	ctx, cancel := context.WithTimeout(e.ctx, loadLimit)
	defer cancel()
	start := time.Now()
	accepted, room := newIDSet(), s.soldOut.room()
	empty, err := s.store.SoldOut(ctx, e.sku, room+1, accepted.add)
	accepted.index()
	took := time.Since(start)
	switch {
	case err != nil:
		if e.ctx.Err() == nil {
			s.log.Warn("order ids not read; retries of a sold-out SKU go to the database", "sku", e.sku, "error", err)
		}
	case accepted.n > room:
		s.log.Warn("too many order ids to remember; requests for a sold-out SKU go to the database", "sku", e.sku)
		return false, fullRest
	case empty.SoldOut && !s.over(e.sku, empty.NextExpiry):
		s.soldOut.count(accepted.n)
		e.versions, e.accepted, e.until = empty.Versions, accepted, empty.NextExpiry
		s.observer.SoldOutCached(accepted.n, took)
		known = true
	}
	return known, loadRest * took
}

// keepFresh refreshes the entry while it is true and orders need it.
func (e *soldOutEntry) keepFresh() {
	expiry := make(<-chan time.Time) // never
	if !e.until.IsZero() {
		_, now := e.service.between(e.sku)
		timer := time.NewTimer(e.until.Sub(now))
		defer timer.Stop()
		expiry = timer.C
	}
	for {
		asked := time.Now()
		if !e.refresh() {
			return
		}
		e.confirmed.Store(&asked)
		select {
		case <-e.refreshWanted: // by an order that was answered from the entry
		default:
		}
		select {
		case <-e.refreshWanted:
		case <-time.After(entryIdle):
			return
		case <-expiry:
			return
		case <-e.ctx.Done():
			return
		}
	}
}

// refresh reports whether the rows have not changed. During the read the entry stays valid until it lapses.
func (e *soldOutEntry) refresh() bool {
	ctx, cancel := context.WithTimeout(e.ctx, soldOutFor)
	defer cancel()
	empty, err := e.service.store.SoldOut(ctx, e.sku, 0, nil)
	return err == nil && empty.SoldOut && slices.Equal(empty.Versions, e.versions)
}
