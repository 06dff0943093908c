package selling

import (
	"context"
	"sync"

	"inventory/internal/stock"
)

// soldOutCache is what a service knows of the SKUs that have sold out.
type soldOutCache struct {
	loading chan struct{} // holds one: a SKU's ids are being read

	mu      sync.RWMutex
	bySKU   map[string]*soldOutEntry
	counted int // held in all
}

func newSoldOutCache() *soldOutCache {
	return &soldOutCache{loading: make(chan struct{}, 1), bySKU: make(map[string]*soldOutEntry)}
}

// entry returns the entry of a SKU, nil for none.
func (c *soldOutCache) entry(sku string) *soldOutEntry {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.bySKU[sku]
}

// invalidate ends the entry of a SKU: nobody who asks from now on is answered from it.
func (c *soldOutCache) invalidate(sku string) {
	if known := c.entry(sku); known != nil {
		known.invalidate()
	}
}

// invalidateAll ends all entries.
func (c *soldOutCache) invalidateAll() {
	c.mu.RLock()
	defer c.mu.RUnlock()
	for _, known := range c.bySKU {
		known.invalidate()
	}
}

// room is how many ids may be read.
func (c *soldOutCache) room() int {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return cacheLimit - c.counted
}

// count counts ids that are held. dropEntry gives them back.
func (c *soldOutCache) count(ids int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.counted += ids
}

// cacheSoldOut begins the entry of a SKU in which nothing was left, or has the one that is there refreshed.
func (s *Service) cacheSoldOut(sku string) {
	s.soldOut.mu.Lock()
	defer s.soldOut.mu.Unlock()
	if known := s.soldOut.bySKU[sku]; known != nil {
		known.requestRefresh()
		return
	}
	e := &soldOutEntry{service: s, sku: sku, refreshWanted: make(chan struct{}, 1), refusal: stock.SoldOutError(sku)}
	e.ctx, e.invalidate = context.WithCancel(s.background)
	s.soldOut.bySKU[sku] = e
	s.workers.running.Go(e.run)
}

// dropEntry removes an entry that has ended. If the SKU has sold out again, another one begins.
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
