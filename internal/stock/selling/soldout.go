package selling

import (
	"context"
	"hash/maphash"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"inventory/internal/stock"
)

// soldOutCache is what a service knows of the SKUs that have sold out.
type soldOutCache struct {
	seed maphash.Seed  // of the hashes of ids. It is random, so that callers cannot choose ids that collide
	ids  atomic.Int64  // of all entries together
	wake chan struct{} // holds one value if entries are to be loaded

	mu     sync.RWMutex
	bySKU  map[string]*soldOutEntry
	toLoad []*soldOutEntry
}

func newSoldOutCache() *soldOutCache {
	return &soldOutCache{seed: maphash.MakeSeed(), wake: make(chan struct{}, 1), bySKU: make(map[string]*soldOutEntry)}
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
	soldOutFor    = time.Second      // for this long a refusal may rest on one read of the rows
	confirmEvery  = soldOutFor / 2   // entries are confirmed this often, before they lapse
	confirmAtOnce = 1000             // by one statement
	loadAtOnce    = 500              // by one transaction: many SKUs may sell out together
	loadLimit     = 10 * time.Second // for reading the accepted ids of SKUs
	entryIdle     = 10 * time.Second // an entry that was not needed for this long is dropped
	loadRest      = 3                // the next load of a SKU waits this many times the length of the last one
	cacheLimit    = 4 << 20          // ids of all SKUs together, at 8 to 10 bytes each
	fullRest      = time.Minute      // until the next load of a SKU whose ids did not fit
)

// soldOutEntry is what this process knows of one SKU that has sold out: a fact in three parts, all true at one instant. No
// segment held anything; accepted are the ids of all orders that had been accepted; age is that of the SKU.
// While the age is the same nothing has been written, so reading it confirms the other two parts. The fact ends by
// itself when the first reservation that was live then expires: from that instant its units can be bought.
//
// Service.loadSoldOut loads the ids once, and Service.confirmSoldOut confirms the fact while orders need it. An invalidated entry stays
// invalid. A restock invalidates it after its commit, so no earlier read can overtake the restock.
type soldOutEntry struct {
	service    *Service
	sku        string
	ctx        context.Context // ends when it is invalidated
	invalidate context.CancelFunc
	needed     atomic.Bool   // by an order, since it was last confirmed
	unused     time.Duration // for how long no order has needed it; only confirmSoldOut uses it
	refusal    *stock.Error  // shared by all refused orders

	// Written before loaded is closed, and never again.
	loaded   chan struct{}
	rest     time.Duration // until the next load of the SKU
	age      stock.Age
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
func (e *soldOutEntry) refuse(key, id string) *stock.Error {
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
		e := &soldOutEntry{service: s, sku: sku, refusal: stock.SoldOutError(sku), loaded: make(chan struct{})}
		e.ctx, e.invalidate = context.WithCancel(s.background)
		s.soldOut.bySKU[sku] = e
		s.soldOut.toLoad = append(s.soldOut.toLoad, e)
		select {
		case s.soldOut.wake <- struct{}{}:
		default:
		}
		s.workers.running.Go(e.run)
	}
}

// run forgets the entry when it has ended. The rest after it bounds the cost of a SKU that sells out again and again.
func (e *soldOutEntry) run() {
	s := e.service
	select {
	case <-e.loaded:
		<-e.ctx.Done()
		s.pause(e.rest)
	case <-s.background.Done():
		return
	}
	s.soldOut.mu.Lock()
	defer s.soldOut.mu.Unlock()
	delete(s.soldOut.bySKU, e.sku)
	s.soldOut.ids.Add(-int64(len(e.accepted)))
}

// loadSoldOut loads the entries of SKUs that have sold out, as long as the service runs.
func (s *Service) loadSoldOut() {
	for {
		select {
		case <-s.background.Done():
			return
		case <-s.soldOut.wake:
		}
		for some := range slices.Chunk(s.soldOut.takeToLoad(), loadAtOnce) {
			s.load(some)
		}
	}
}

// takeToLoad returns the entries that are to be loaded now.
func (c *soldOutCache) takeToLoad() []*soldOutEntry {
	c.mu.Lock()
	defer c.mu.Unlock()
	entries := c.toLoad
	c.toLoad = nil
	return entries
}

// load reads the ids of entries whose SKUs are sold out, if they fit, and ends the other entries. Nothing else loads, so cacheLimit holds
// for all entries together.
func (s *Service) load(entries []*soldOutEntry) {
	ctx, cancel := context.WithTimeout(s.background, loadLimit)
	defer cancel()
	bySKU := make(map[string]*soldOutEntry, len(entries))
	for _, e := range entries {
		e.accepted, bySKU[e.sku] = nil, e
	}
	start, room, read := time.Now(), cacheLimit-int(s.soldOut.ids.Load()), 0
	views, err := s.store.SoldOut(ctx, slices.Collect(maps.Keys(bySKU)), room+1, func(sku, id []byte) {
		e := bySKU[string(sku)]
		e.accepted = append(e.accepted, maphash.Bytes(s.soldOut.seed, id))
		read++
	})
	took := time.Since(start)
	switch {
	case err != nil && s.background.Err() == nil:
		s.log.Warn("order ids not read; retries of sold-out SKUs go to the database", "sku", entries[0].sku, "skus", len(entries), "error", err)
	case read > room && len(entries) > 1: // one of them may be too large for all
		for i := range entries {
			s.load(entries[i : i+1])
		}
		return
	case read > room:
		s.log.Warn("too many order ids to remember; requests for a sold-out SKU go to the database", "sku", entries[0].sku)
		entries[0].end(fullRest)
		return
	}
	for _, e := range entries {
		if view, there := views[e.sku]; err == nil && there && view.SoldOut() {
			e.begin(view, start, took)
		} else {
			e.end(loadRest * took)
		}
	}
}

// begin makes an entry known that was read at an instant.
func (e *soldOutEntry) begin(view stock.View, read time.Time, took time.Duration) {
	slices.Sort(e.accepted)
	e.age, e.until, e.rest = view.Age(), view.NextExpiry, loadRest*took
	e.service.soldOut.ids.Add(int64(len(e.accepted)))
	e.confirmed.Store(&read)
	close(e.loaded)
	e.service.observe(Activity{Kind: SoldOutCached, Took: took})
}

// end ends an entry that is not known. The next one of its SKU is loaded after a rest.
func (e *soldOutEntry) end(rest time.Duration) {
	e.accepted, e.rest = nil, rest
	e.invalidate()
	close(e.loaded)
}

// confirmSoldOut confirms the entries that orders need, and ends the others, as long as the service runs.
func (s *Service) confirmSoldOut() {
	for s.pause(confirmEvery) {
		for some := range slices.Chunk(s.soldOut.needed(), confirmAtOnce) {
			s.confirm(some)
		}
	}
}

// needed returns the entries that were loaded and are to be confirmed.
func (c *soldOutCache) needed() (entries []*soldOutEntry) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	for _, e := range c.bySKU {
		if e.ctx.Err() != nil || e.confirmed.Load() == nil {
			continue
		}
		if e.unused += confirmEvery; e.needed.Swap(false) {
			e.unused = 0
		}
		if e.unused < entryIdle {
			entries = append(entries, e)
		} else {
			e.invalidate()
		}
	}
	return entries
}

// confirm confirms entries whose SKUs have the same age, and of which no reservation has expired, and ends the others. During the read
// they stay valid until they lapse. If it fails they stay, too: a later look shows whether anything has happened since.
func (s *Service) confirm(entries []*soldOutEntry) {
	asked := time.Now()
	ctx, cancel := context.WithTimeout(s.background, soldOutFor)
	defer cancel()
	ages, err := s.store.Ages(ctx, stock.Column(entries, func(e *soldOutEntry) string { return e.sku })...)
	if err != nil {
		return // the probe of the database tells it
	}
	for _, e := range entries {
		if ages[e.sku] != e.age || s.over(e.sku, e.until) {
			e.invalidate()
		} else {
			e.confirmed.Store(&asked)
		}
	}
}
