package selling

import (
	"context"
	"sync/atomic"
	"time"
)

// The bounds of the sold-out cache.
const (
	soldOutFor   = time.Second      // for this long a refusal may rest on one read of the rows
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
		signal(e.refreshWanted)
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
