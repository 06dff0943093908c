package selling

import (
	"math/rand/v2"
	"sync"

	"inventory/internal/stock"
)

// mostSeen bounds how many SKUs a generation of [seen] has.
const mostSeen = 1 << 15

// seen is what this process has read of the SKUs that orders of several SKUs ask for. An order whose SKUs were all seen is written
// without a look at them. What was seen may be out of date, and costs only such a look then: the write compares the layout,
// which every change of the terms raises, and what the segments hold.
type seen struct {
	mu            sync.Mutex
	young, former map[string]*seenSKU // when the young generation is full, the former one is forgotten
}

// seenSKU is a SKU that was seen.
type seenSKU struct {
	stock.View     // less what orders have taken since
	segment    int // from which orders take, all the same one: so they meet neither each other nor, mostly, other processes
}

func newSeen() *seen { return &seen{young: make(map[string]*seenSKU)} }

// learn keeps views of SKUs.
func (s *seen) learn(views map[string]stock.View) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for sku, view := range views {
		s.addLocked(sku, &seenSKU{view, rand.IntN(len(view.Segments))})
	}
}

// forget forgets the SKUs of an order.
func (s *seen) forget(order stock.MultiOrder) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, line := range order.Lines {
		delete(s.young, line.SKU)
		delete(s.former, line.SKU)
	}
}

func (s *seen) addLocked(sku string, known *seenSKU) {
	if len(s.young) >= mostSeen {
		s.young, s.former = make(map[string]*seenSKU), s.young
	}
	s.young[sku] = known
}

func (s *seen) findLocked(sku string) *seenSKU {
	known := s.young[sku]
	if known == nil {
		if known = s.former[sku]; known != nil {
			s.addLocked(sku, known)
		}
	}
	return known
}

// place says from where an order is to be taken. It reports false if a SKU was not seen, has a buyer limit, seems to hold too little,
// or refuses the order by its terms.
func (s *seen) place(order stock.MultiOrder, refuses func(t stock.Terms, sku string, o stock.Order) error) (lines []stock.PlacedLine, known bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	lines = make([]stock.PlacedLine, len(order.Lines))
	for i, line := range order.Lines {
		k := s.findLocked(line.SKU)
		if k == nil || k.Terms.PerBuyerLimit > 0 || refuses(k.Terms, line.SKU, order.Of(line)) != nil {
			return nil, false
		}
		switch {
		case k.take(line.Quantity):
			lines[i] = placedLine(k.View, k.segment)
		case stock.Sum(k.Segments) >= line.Quantity:
			lines[i] = placedLine(k.View, noSegment)
			lines[i].Parts = stock.TakeFromFullest(k.Segments, line.Quantity)
		default:
			return nil, false
		}
	}
	return lines, true
}

// take takes units from one segment. It reports false if none seems to hold so many.
func (k *seenSKU) take(units int64) bool {
	for range k.Segments {
		if k.Segments[k.segment] >= units {
			k.Segments[k.segment] -= units
			return true
		}
		k.segment = (k.segment + 1) % len(k.Segments)
	}
	return false
}
