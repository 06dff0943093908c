package selling

import (
	"context"
	"slices"
	"sync/atomic"
	"time"
)

// The bounds of what is remembered of SKUs that have sold out, beside soldOutFor.
const (
	refreshAfter  = soldOutFor / 2   // what was confirmed longer ago is checked if somebody asks, before it lapses
	loadLimit   = 10 * time.Second // for reading the accepted ids of a SKU
	entryIdle  = 10 * time.Second // what nobody has needed for this long is forgotten
	loadRest  = 3                // a SKU's next reading waits this many times as long as the last one took
	cacheLimit = 4 << 20          // ids of all SKUs together, at 12 bytes each
	fullRest = time.Minute      // until a SKU whose ids found no room tries again
)

// memory is what this process knows of one SKU that has sold out: a fact in three parts that were true at one instant.
// No segment held anything; accepted are the ids of all orders that had been accepted; versions were those of the
// segments. While the versions are the same nothing has been written, so a look at them confirms the rest anew.
// The fact ends by itself when the first reservation expires that was live then: its units can be bought from that instant.
//
// Its goroutine, run, reads the ids once, and confirms them as long as somebody asks. Once forgotten, a memory knows
// nothing for good. So a restock that forgets it after its commit cannot be overtaken by a reading from before.
type soldOutEntry struct {
	service *Service
	sku     string
	ctx     context.Context // ends when it is forgotten
	invalidate  context.CancelFunc
	refreshWanted  chan struct{} // holds one: a check is due
	refusal error         // shared by all who are refused

	// Written before the first confirmation, and never again.
	versions []int64
	accepted *idSet
	until    time.Time // zero: no reservation is live
	// confirmed is an instant before the rows were last read as above; nil: they were not yet.
	confirmed atomic.Pointer[time.Time]
}

// live tells whether the SKU may be called sold out without a look at the rows. It waits for nothing: every caller
// runs it. A nil memory is none.
func (m *soldOutEntry) valid() bool {
	if m == nil {
		return false
	}
	confirmed := m.confirmed.Load()
	if confirmed == nil || m.ctx.Err() != nil {
		return false
	}
	age := time.Since(*confirmed)
	if age > refreshAfter {
		m.requestRefresh()
	}
	return age < soldOutFor && !m.service.over(m.until)
}

// refuse returns the refusal of an order that was never accepted, nil if the rows have to be asked.
func (m *soldOutEntry) refuse(orderID string) error {
	if !m.valid() || m.accepted.has(orderID) {
		return nil
	}
	return m.refusal
}

// has tells whether an order id was accepted, as far as is known.
func (m *soldOutEntry) has(orderID string) bool { return m.valid() && m.accepted.has(orderID) }

// want asks for a check.
func (m *soldOutEntry) requestRefresh() {
	select {
	case m.refreshWanted <- struct{}{}:
	default:
	}
}

// run reads, and confirms until the fact has ended. The rest bounds what a SKU costs that sells out again and again.
func (m *soldOutEntry) run() {
	defer m.service.dropEntry(m)
	known, rest := m.load()
	if known {
		m.keepFresh()
	}
	m.invalidate()
	select {
	case <-time.After(rest):
	case <-m.service.background.Done():
	}
}

// read reads the ids, if the SKU is sold out and there is room for them, and tells how long to rest before they are
// read again. SKUs take turns at it: so the limit holds for all of them.
func (m *soldOutEntry) load() (known bool, rest time.Duration) {
	s := m.service
	select {
	case s.soldOut.loading <- struct{}{}:
		defer func() { <-s.soldOut.loading }()
	case <-m.ctx.Done():
		return false, 0
	}
	ctx, cancel := context.WithTimeout(m.ctx, loadLimit)
	defer cancel()
	start := time.Now()
	accepted, room := newIDSet(), s.soldOut.room()
	empty, err := s.store.SoldOut(ctx, m.sku, room+1, accepted.add)
	accepted.index()
	took := time.Since(start)
	switch {
	case err != nil:
		if m.ctx.Err() == nil {
			s.log.Warn("order ids not read; retries of a sold-out SKU go to the database", "sku", m.sku, "error", err)
		}
	case accepted.n > room:
		s.log.Warn("too many order ids to remember; requests for a sold-out SKU go to the database", "sku", m.sku)
		return false, fullRest
	case empty.SoldOut && !s.over(empty.NextExpiry):
		s.soldOut.count(accepted.n)
		m.versions, m.accepted, m.until = empty.Versions, accepted, empty.NextExpiry
		s.observer.SoldOutCached(accepted.n, took)
		known = true
	}
	return known, loadRest * took
}

// keep confirms what was read as long as it is true and somebody asks.
func (m *soldOutEntry) keepFresh() {
	expiry := make(<-chan time.Time) // never
	if !m.until.IsZero() {
		timer := time.NewTimer(m.until.Sub(m.service.now()))
		defer timer.Stop()
		expiry = timer.C
	}
	for {
		asked := time.Now()
		if !m.refresh() {
			return
		}
		m.confirmed.Store(&asked)
		select {
		case <-m.refreshWanted: // by somebody who is answered now
		default:
		}
		select {
		case <-m.refreshWanted:
		case <-time.After(entryIdle):
			return
		case <-expiry:
			return
		case <-m.ctx.Done():
			return
		}
	}
}

// check looks whether the rows are as they were. What was confirmed before is good until it lapses meanwhile.
func (m *soldOutEntry) refresh() bool {
	ctx, cancel := context.WithTimeout(m.ctx, soldOutFor)
	defer cancel()
	empty, err := m.service.store.SoldOut(ctx, m.sku, 0, nil)
	return err == nil && empty.SoldOut && slices.Equal(empty.Versions, m.versions)
}
