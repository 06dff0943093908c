package selling

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"inventory/internal/stock"
)

// Whether a SKU has units is told by looking, never by guessing from one write: others may write at the same time.
//
//	a write that leaves a segment empty ──┐
//	a write by which units come back ─────┴─> changed ── every 50 ms ──> look ──> sold_out or back_in_stock
//
// Each look is told with the age of what it has read, so listeners in every process can leave out what came late. The write that
// is the last to change whether there are units is followed by a look that sees it, and a younger one sees the same. A look that fails
// tells nothing: an event may be lost.
const (
	lookEvery   = 50 * time.Millisecond
	looksAtOnce = 256 // SKUs in one statement
)

// levels are the SKUs of which it is to be told whether they have units.
type levels struct {
	mu      sync.Mutex
	pending map[string]int64 // by SKU: units that came back since the last look
}

// changed notes that a write may have changed whether a SKU has units, and how many came back. It never waits.
func (s *Service) changed(sku string, cameBack int64) {
	s.levels.mu.Lock()
	defer s.levels.mu.Unlock()
	s.levels.pending[sku] += cameBack
}

// tellLevels tells whether SKUs have units, until the service closes.
func (s *Service) tellLevels() {
	for s.pause(lookEvery) {
		s.levels.mu.Lock()
		pending := s.levels.pending
		s.levels.pending = make(map[string]int64)
		s.levels.mu.Unlock()
		for skus := range slices.Chunk(slices.Sorted(maps.Keys(pending)), looksAtOnce) {
			if err := s.tellSome(s.background, skus, pending); err != nil {
				s.log.Debug("not looked whether SKUs have units", "skus", len(skus), "first", skus[0], "error", err)
			}
		}
	}
}

// tellSome looks at SKUs, and publishes what it sees. pending has how many units came back.
func (s *Service) tellSome(ctx context.Context, skus []string, pending map[string]int64) error {
	ctx, cancel := context.WithTimeout(ctx, writeLimit)
	defer cancel()
	views, err := s.store.Views(ctx, skus...)
	if err != nil {
		return err
	}
	for sku, seen := range views {
		if !seen.Archived() {
			s.tellLevel(sku, seen, pending[sku])
		}
	}
	return nil
}

// tellLevel publishes what was seen.
func (s *Service) tellLevel(sku string, seen stock.View, cameBack int64) {
	e := stock.Event{Kind: stock.EventBackInStock, SKU: sku, Units: cameBack, At: s.now(), Age: seen.Age(), WasEmpty: stock.Sum(seen.Segments) <= cameBack}
	if seen.SoldOut() {
		e.Kind, e.Units = stock.EventSoldOut, 0
	}
	s.events.Publish(e)
}
