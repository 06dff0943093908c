package selling

import (
	"sync"
)

// soldOutCache is what a service knows of the SKUs that have sold out.
type soldOutCache struct {
	loading chan struct{} // with room for one: a SKU's ids are being read

	mu      sync.RWMutex
	bySKU   map[string]*soldOutEntry
	counted int // ids of all entries
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

// invalidate ends the entry of a SKU: no later order is answered from it.
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

// room returns how many more ids the cache may hold.
func (c *soldOutCache) room() int {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return cacheLimit - c.counted
}

// count adds ids to those held. dropEntry subtracts them.
func (c *soldOutCache) count(ids int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.counted += ids
}
