package selling

import (
	"context"
	"slices"
	"sync/atomic"
	"time"
)

// The bounds of the sold-out cache, besides soldOutFor.
const (
	refreshAfter = soldOutFor / 2   // what was confirmed longer ago is refreshed if somebody asks, before it lapses
	loadLimit    = 10 * time.Second // for reading the accepted ids of a SKU
	entryIdle    = 10 * time.Second // what nobody has needed for this long is dropped
	loadRest     = 3                // the next load of a SKU waits this many times as long as the last one took
	cacheLimit   = 4 << 20          // ids of all SKUs together, at 12 bytes each
	fullRest     = time.Minute      // until a SKU whose ids found no room tries again
)

// soldOutEntry is what this process knows of one SKU that has sold out: a fact in three parts, all true at one instant. No
// segment held anything; accepted are the ids of all orders that had been accepted; versions are those of the segments.
// While the versions are the same nothing has been written, so reading them confirms the rest anew. The fact ends by itself
// when the first reservation expires that was live then: from that instant its units can be bought.
//
// Its goroutine, run, loads the ids once, and refreshes the entry as long as somebody asks. Once invalidated, an entry stays
// so. A restock invalidates it after its commit, so no read from before can overtake the restock.
type soldOutEntry struct {
	service       *Service
	sku           string
	ctx           context.Context // ends when it is invalidated
	invalidate    context.CancelFunc
	refreshWanted chan struct{} // holds one: a refresh is due
	refusal       error         // shared by all who are refused

	// Written before the first confirmation, and never again.
	versions []int64
	accepted *idSet
	until    time.Time // zero: no reservation is live
	// confirmed is an instant before the rows were last read as above; nil: they were not yet.
	confirmed atomic.Pointer[time.Time]
}

// valid tells whether the SKU may be called sold out without reading the rows. It waits for nothing: every caller runs it. A
// nil entry is not valid.
func (e *soldOutEntry) valid() bool {
	if e == nil {
		return false
	}
	confirmed := e.confirmed.Load()
	if confirmed == nil || e.ctx.Err() != nil {
		return false
	}
	age := time.Since(*confirmed)
	if age > refreshAfter {
		e.requestRefresh()
	}
	return age < soldOutFor && !e.service.over(e.until)
}

// refuse returns the refusal of an order that was never accepted, nil if the rows have to be read.
func (e *soldOutEntry) refuse(orderID string) error {
	if !e.valid() || e.accepted.has(orderID) {
		return nil
	}
	return e.refusal
}

// has tells whether an order id was accepted, as far as is known.
func (e *soldOutEntry) has(orderID string) bool { return e.valid() && e.accepted.has(orderID) }

// requestRefresh asks for a refresh.
func (e *soldOutEntry) requestRefresh() {
	select {
	case e.refreshWanted <- struct{}{}:
	default:
	}
}

// run loads, and refreshes until the fact has ended. The rest bounds what a SKU costs that sells out again and again.
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

// load reads the ids, if the SKU is sold out and there is room for them, and tells how long to rest before they are read
// again. One SKU loads at a time, so the limit holds for all of them.
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
	case empty.SoldOut && !s.over(empty.NextExpiry):
		s.soldOut.count(accepted.n)
		e.versions, e.accepted, e.until = empty.Versions, accepted, empty.NextExpiry
		s.observer.SoldOutCached(accepted.n, took)
		known = true
	}
	return known, loadRest * took
}

// keepFresh refreshes what was loaded as long as it is true and somebody asks.
func (e *soldOutEntry) keepFresh() {
	expiry := make(<-chan time.Time) // never
	if !e.until.IsZero() {
		timer := time.NewTimer(e.until.Sub(e.service.now()))
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
		case <-e.refreshWanted: // by somebody who is answered now
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

// refresh tells whether the rows are as they were. Meanwhile what was confirmed before is good until it lapses.
func (e *soldOutEntry) refresh() bool {
	ctx, cancel := context.WithTimeout(e.ctx, soldOutFor)
	defer cancel()
	empty, err := e.service.store.SoldOut(ctx, e.sku, 0, nil)
	return err == nil && empty.SoldOut && slices.Equal(empty.Versions, e.versions)
}
