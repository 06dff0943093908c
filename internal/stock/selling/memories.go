package selling

import (
	"context"
	"sync"

	"inventory/internal/stock"
)

// memories are what a service knows of the SKUs that have sold out.
type memories struct {
	reading chan struct{} // holds one: a SKU's ids are being read

	mu    sync.RWMutex
	bySKU map[string]*memory
	ids   int // held in all
}

func newMemories() *memories {
	return &memories{reading: make(chan struct{}, 1), bySKU: make(map[string]*memory)}
}

// of returns the memory of a SKU, nil for none.
func (m *memories) of(sku string) *memory {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.bySKU[sku]
}

// forget ends what is remembered of a SKU: who asks from now on is not answered from it.
func (m *memories) forget(sku string) {
	if known := m.of(sku); known != nil {
		known.forget()
	}
}

// forgetAll ends what is remembered of all SKUs.
func (m *memories) forgetAll() {
	m.mu.RLock()
	defer m.mu.RUnlock()
	for _, known := range m.bySKU {
		known.forget()
	}
}

// room is how many ids may be read.
func (m *memories) room() int {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return memoryLimit - m.ids
}

// take counts ids that are held. drop gives them back.
func (m *memories) take(ids int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.ids += ids
}

// remember begins a memory of a SKU in which nothing was left, or has the one that is there checked.
func (s *Service) remember(sku string) {
	s.memories.mu.Lock()
	defer s.memories.mu.Unlock()
	if known := s.memories.bySKU[sku]; known != nil {
		known.want()
		return
	}
	m := &memory{service: s, sku: sku, wanted: make(chan struct{}, 1), refusal: stock.SoldOutError(sku)}
	m.ctx, m.forget = context.WithCancel(s.beside)
	s.memories.bySKU[sku] = m
	s.lanes.running.Go(m.run)
}

// drop takes a memory away that has ended. Where another is wanted already, it begins now.
func (s *Service) drop(m *memory) {
	s.memories.mu.Lock()
	delete(s.memories.bySKU, m.sku)
	if m.accepted != nil {
		s.memories.ids -= m.accepted.n
	}
	s.memories.mu.Unlock()
	if len(m.wanted) > 0 && s.beside.Err() == nil {
		s.remember(m.sku)
	}
}
