package selling

import (
	"context"
	"hash/maphash"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"inventory/internal/stock"
)

// soldOutCache is what a service knows of the SKUs that have sold out.
type soldOutCache struct {
	seed    maphash.Seed // of the hashes of ids. It is random, so that callers cannot choose ids that collide
	loading sync.Mutex   // held while a SKU's ids are read
	ids     atomic.Int64 // of all entries together

	mu    sync.RWMutex
	bySKU map[string]*soldOutEntry
}

// entry returns the entry of a SKU, nil for none.
func (c *soldOutCache) entry(sku string) *soldOutEntry {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.bySKU[sku]
}

// invalidate ends the entry of a SKU: no later order is answered from it.
func (c *soldOutCache) invalidate(sku string) {
	if known := c.entry(sku); known != nil {
		known.invalidate()
	}
}

// The bounds of the sold-out cache.
const (
	soldOutFor   = time.Second      // for this long a refusal may rest on one read of the rows
	confirmEvery = soldOutFor / 2   // an entry is confirmed again when it is this old, before it lapses
	loadLimit    = 10 * time.Second // for reading the accepted ids of a SKU
	entryIdle    = 10 * time.Second // an entry that was not needed for this long is dropped
	loadRest     = 3                // the next load of a SKU waits this many times the length of the last one
	cacheLimit   = 4 << 20          // ids of all SKUs together, at 8 to 10 bytes each
	fullRest     = time.Minute      // until the next load of a SKU whose ids did not fit
)

// soldOutEntry is what this process knows of one SKU that has sold out: a fact in three parts, all true at one instant. No
// segment held anything; accepted are the ids of all orders that had been accepted; versions are those of the segments.
// While the versions are the same nothing has been written, so reading them confirms the other two parts. The fact ends by
// itself when the first reservation that was live then expires: from that instant its units can be bought.
//
// The goroutine run loads the ids once, and confirms the fact while orders need it. An invalidated entry stays invalid. A
// restock invalidates it after its commit, so no earlier read can overtake the restock.
type soldOutEntry struct {
	service    *Service
	sku        string
	ctx        context.Context // ends when it is invalidated
	invalidate context.CancelFunc
	needed     atomic.Bool // by an order, since it was last confirmed
	refusal    error       // shared by all refused orders

	// Written before the first confirmation, and never again.
	versions []int64
	accepted []uint64  // hashes of the ids, ascending
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
	if !e.needed.Load() {
		e.needed.Store(true)
	}
	confirmed := e.confirmed.Load()
	return confirmed != nil && e.ctx.Err() == nil && time.Since(*confirmed) < soldOutFor && !e.service.over(e.sku, e.until)
}

// refuse returns the refusal of an order that was never accepted, nil if the rows have to be read. The order may have been accepted
// under either of two ids.
func (e *soldOutEntry) refuse(key, id string) error {
	if !e.valid() || e.has(key) || e.has(id) {
		return nil
	}
	return e.refusal
}

// has reports whether an order was accepted under an id. It always finds those that were. With a million ids it takes another for one of
// them once in 10^13 lookups.
func (e *soldOutEntry) has(id string) bool {
	_, found := slices.BinarySearch(e.accepted, maphash.String(e.service.soldOut.seed, id))
	return found
}

// cacheSoldOut creates the entry of a SKU that has sold out, unless there is one.
func (s *Service) cacheSoldOut(sku string) {
	s.soldOut.mu.Lock()
	defer s.soldOut.mu.Unlock()
	if s.soldOut.bySKU[sku] == nil {
		e := &soldOutEntry{service: s, sku: sku, refusal: stock.SoldOutError(sku)}
		e.ctx, e.invalidate = context.WithCancel(s.background)
		s.soldOut.bySKU[sku] = e
		s.workers.running.Go(e.run)
	}
}

// run loads the entry, and confirms it until the fact has ended or nobody needs it. The rest after it bounds the cost of a SKU that
// sells out again and again.
func (e *soldOutEntry) run() {
	s := e.service
	known, rest := e.load()
	for unused := time.Duration(0); known && unused < entryIdle && e.confirm(); unused += confirmEvery {
		if e.needed.Swap(false) {
			unused = 0
		}
		select {
		case <-time.After(confirmEvery):
		case <-e.ctx.Done():
		}
	}
	e.invalidate()
	s.pause(rest)
	s.soldOut.mu.Lock()
	defer s.soldOut.mu.Unlock()
	delete(s.soldOut.bySKU, e.sku)
	s.soldOut.ids.Add(-int64(len(e.accepted)))
}

// load reads the ids, if the SKU is sold out and they fit, and returns how long to rest before the next load. One SKU loads
// at a time, so cacheLimit holds for all of them.
func (e *soldOutEntry) load() (known bool, rest time.Duration) {
	s := e.service
	s.soldOut.loading.Lock()
	defer s.soldOut.loading.Unlock()
	ctx, cancel := context.WithTimeout(e.ctx, loadLimit)
	defer cancel()
	start := time.Now()
	var accepted []uint64
	room := cacheLimit - int(s.soldOut.ids.Load())
	empty, err := s.store.SoldOut(ctx, e.sku, room+1, func(id []byte) { accepted = append(accepted, maphash.Bytes(s.soldOut.seed, id)) })
	took := time.Since(start)
	switch {
	case err != nil && e.ctx.Err() == nil:
		s.log.Warn("order ids not read; retries of a sold-out SKU go to the database", "sku", e.sku, "error", err)
	case len(accepted) > room:
		s.log.Warn("too many order ids to remember; requests for a sold-out SKU go to the database", "sku", e.sku)
		return false, fullRest
	case err == nil && empty.SoldOut():
		slices.Sort(accepted)
		e.versions, e.accepted, e.until = empty.Versions, accepted, empty.NextExpiry
		s.soldOut.ids.Add(int64(len(accepted)))
		s.observe(Activity{Kind: SoldOutCached, Took: took})
		known = true
	}
	return known, loadRest * took
}

// confirm reports whether the rows have not changed, and no reservation has expired. During the read the entry stays valid until it
// lapses.
func (e *soldOutEntry) confirm() bool {
	asked := time.Now()
	ctx, cancel := context.WithTimeout(e.ctx, soldOutFor)
	defer cancel()
	empty, err := e.service.store.SoldOut(ctx, e.sku, 0, nil)
	if err != nil || !empty.SoldOut() || !slices.Equal(empty.Versions, e.versions) || e.service.over(e.sku, e.until) {
		return false
	}
	e.confirmed.Store(&asked)
	return true
}
