package selling

import (
	"context"
	"sync"

	"inventory/internal/stock"
)

// memories are what a service knows of the SKUs that have sold out.
type soldOutCache struct {
	loading chan struct{} // holds one: a SKU's ids are being read

	mu      sync.RWMutex
	bySKU   map[string]*soldOutEntry
	counted int // held in all
}

func newSoldOutCache() *soldOutCache {
	return &soldOutCache{loading: make(chan struct{}, 1), bySKU: make(map[string]*soldOutEntry)}
}

// of returns the memory of a SKU, nil for none.
func (m *soldOutCache) entry(sku string) *soldOutEntry {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.bySKU[sku]
}

// forget ends what is remembered of a SKU: who asks from now on is not answered from it.
func (m *soldOutCache) invalidate(sku string) {
	if known := m.entry(sku); known != nil {
		known.invalidate()
	}
}

// forgetAll ends what is remembered of all SKUs.
func (m *soldOutCache) invalidateAll() {
	m.mu.RLock()
	defer m.mu.RUnlock()
	for _, known := range m.bySKU {
		known.invalidate()
	}
}

// room is how many ids may be read.
func (m *soldOutCache) room() int {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return cacheLimit - m.counted
}

// take counts ids that are held. drop gives them back.
func (m *soldOutCache) count(ids int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.counted += ids
}

// remember begins a memory of a SKU in which nothing was left, or has the one that is there checked.
func (s *Service) cacheSoldOut(sku string) {
	s.soldOut.mu.Lock()
	defer s.soldOut.mu.Unlock()
	if known := s.soldOut.bySKU[sku]; known != nil {
		known.requestRefresh()
		return
	}
	m := &soldOutEntry{service: s, sku: sku, refreshWanted: make(chan struct{}, 1), refusal: stock.SoldOutError(sku)}
	m.ctx, m.invalidate = context.WithCancel(s.background)
	s.soldOut.bySKU[sku] = m
	s.workers.running.Go(m.run)
}

// drop takes a memory away that has ended. Where another is wanted already, it begins now.
func (s *Service) dropEntry(m *soldOutEntry) {
	s.soldOut.mu.Lock()
	delete(s.soldOut.bySKU, m.sku)
	if m.accepted != nil {
		s.soldOut.counted -= m.accepted.n
	}
	s.soldOut.mu.Unlock()
	if len(m.refreshWanted) > 0 && s.background.Err() == nil {
		s.cacheSoldOut(m.sku)
	}
}
