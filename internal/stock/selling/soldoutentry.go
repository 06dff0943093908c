package selling

import (
	"context"
	"sync/atomic"
	"time"
)

// The bounds of the sold-out cache.
const (
	soldOutFor   = time.Second      // for this long a refusal may rest on one read of the rows
	refreshAfter = soldOutFor / 2   // an entry that is needed is refreshed when it is this old, before it lapses
	loadLimit    = 10 * time.Second // for reading the accepted ids of a SKU
	entryIdle    = 10 * time.Second // an entry that was not needed for this long is dropped
	loadRest     = 3                // the next load of a SKU waits this many times the length of the last one
	cacheLimit   = 4 << 20          // ids of all SKUs together, at 12 bytes each
	fullRest     = time.Minute      // until the next load of a SKU whose ids did not fit
)

// soldOutEntry is what this process knows of one SKU that has sold out: a fact in three parts, all true at one instant. No
// segment held anything; accepted are the ids of all orders that had been accepted; versions are those of the segments.
// While the versions are the same nothing has been written, so reading them confirms the other two parts. The fact ends by
// itself when the first reservation that was live then expires: from that instant its units can be bought.
//
// The goroutine run loads the ids once, and refreshes the entry while orders need it. An invalidated entry stays invalid. A
// restock invalidates it after its commit, so no earlier read can overtake the restock.
type soldOutEntry struct {
	service       *Service
	sku           string
	ctx           context.Context // ends when it is invalidated
	invalidate    context.CancelFunc
	refreshWanted chan struct{} // with room for one: a refresh is due
	refusal       error         // shared by all refused orders

	// Written before the first confirmation, and never again.
	versions []int64
	accepted *idSet
	until    time.Time // zero: no reservation is live
	// confirmed is an instant just before the last read that confirmed the fact; nil: there was none yet.
	confirmed atomic.Pointer[time.Time]
}

// valid reports whether an order may be refused without reading the rows. It never waits: every caller runs it. A nil entry
// is not valid.
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
	return age < soldOutFor && !e.service.over(e.sku, e.until)
}

// refuse returns the refusal of an order that was never accepted, nil if the rows have to be read.
func (e *soldOutEntry) refuse(orderID string) error {
	if !e.valid() || e.accepted.has(orderID) {
		return nil
	}
	return e.refusal
}

// has reports whether an order id is among the accepted ones.
func (e *soldOutEntry) has(orderID string) bool { return e.valid() && e.accepted.has(orderID) }
