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
	soldOutFor    = time.Second      // for this long a refusal may rest on one read of the rows
	confirmEvery  = soldOutFor / 2   // entries are confirmed this often, before they lapse
	confirmAtOnce = 1000             // by one statement
	loadLimit     = 10 * time.Second // for reading the accepted ids of a SKU
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
// The goroutine run loads the ids once. Service.confirmSoldOut confirms the fact while orders need it. An invalidated entry stays
// invalid. A restock invalidates it after its commit, so no earlier read can overtake the restock.
type soldOutEntry struct {
	service    *Service
	sku        string
	ctx        context.Context // ends when it is invalidated
	invalidate context.CancelFunc
	needed     atomic.Bool   // by an order, since it was last confirmed
	unused     time.Duration // for how long no order has needed it; only confirmSoldOut uses it
	refusal    *stock.Error  // shared by all refused orders

	// Written before the first confirmation, and never again.
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
		e := &soldOutEntry{service: s, sku: sku, refusal: stock.SoldOutError(sku)}
		e.ctx, e.invalidate = context.WithCancel(s.background)
		s.soldOut.bySKU[sku] = e
		s.workers.running.Go(e.run)
	}
}

// run loads the entry, and forgets it when it has ended. The rest after it bounds the cost of a SKU that sells out again and again.
func (e *soldOutEntry) run() {
	s := e.service
	known, rest := e.load()
	if known {
		<-e.ctx.Done()
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
		e.age, e.accepted, e.until = empty.Age(), accepted, empty.NextExpiry
		s.soldOut.ids.Add(int64(len(accepted)))
		e.confirmed.Store(&start)
		s.observe(Activity{Kind: SoldOutCached, Took: took})
		known = true
	}
	return known, loadRest * took
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
