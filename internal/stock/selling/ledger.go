package selling

import (
	"context"
	"time"

	"inventory/internal/locking"
	"inventory/internal/stock"
)

// Move restocks, adjusts or resegments a SKU, as the kind says. Created is false when the same was done before. CodeRefReused
// means that the ref belongs to another change, CodeInsufficientStock that an adjustment would take away more than is
// available.
func (s *Service) Move(ctx context.Context, m stock.Movement) (created bool, err error) {
	if err := m.Check(); err != nil {
		return false, err
	}
	m.At = s.at()
	writing, done, err := s.uninterrupted(ctx)
	if err != nil {
		return false, err
	}
	defer done()
	if m.Quantity <= 0 { // what it takes away or spreads may have to come back first
		if _, err := s.expire(writing, m.SKU); err != nil {
			return false, err
		}
	}
	if m.Kind == stock.Resegmented {
		created, err = s.resegment(writing, m)
	} else {
		created, err = s.store.Move(writing, m)
	}
	// Also after an error: it may be done.
	s.onRestock(m.SKU)
	if err != nil {
		return false, stock.Unavailable(err, string(m.Kind))
	}
	if created && m.Quantity > 0 {
		s.events.Publish(stock.Event{Kind: stock.EventBackInStock, SKU: m.SKU, Units: m.Quantity, At: s.now()})
	}
	return created, nil
}

// resegment spreads a SKU over other segments while it is sold.
//
// The locks of the segments are a big-reader lock: a lane that sells holds one of them, as a reader does, and whoever changes
// the layout takes them all, as the writer. So lanes pause for one short transaction, and find themselves in the new
// layout. Without the locks the rows decide: each tells its layout, and refuses a batch that was meant for another.
func (s *Service) resegment(ctx context.Context, m stock.Movement) (created bool, err error) {
	views, err := s.store.Views(ctx, m.SKU)
	if err != nil {
		return false, err
	}
	view, ok := views[m.SKU]
	if !ok {
		return false, stock.UnknownSKU(m.SKU)
	}
	parts := make([]part, len(view.Segments))
	for segment := range parts {
		parts[segment] = part{sku: m.SKU, segment: segment}
	}
	hold := s.lockParts(ctx, parts)
	start := time.Now()
	if hold != nil {
		defer func() {
			s.giveBack(hold)
			s.observer.Resegmented(time.Since(start))
		}()
	}
	return s.store.Move(ctx, m)
}

// part names the lock of one segment.
type part struct {
	sku     string
	segment int
}

// lockParts takes the locks of segments as a MultiLock, within lockWait. It returns nil where they are not to be had: then the
// guard alone decides.
func (s *Service) lockParts(ctx context.Context, parts []part) *locking.Hold {
	if len(parts) == 0 {
		return nil
	}
	tell, ok := s.mayLock(parts[0].sku)
	if !ok {
		return nil
	}
	lockers := make([]locking.Locker, len(parts))
	for i, p := range parts {
		lockers[i] = s.lock(p.sku, p.segment)
	}
	start := time.Now()
	hold, err := locking.MultiLock(lockers...).Lock(ctx, locking.Wait(lockWait))
	s.observer.LockWaited(time.Since(start), err == nil)
	tell(err)
	if err != nil {
		return nil
	}
	return hold
}

// MaxPage bounds how many movements are read at once.
const MaxPage = 1000

// Movements reads a SKU's ledger, the oldest first, from behind a position on; the zero Position is before all. Who goes on
// from the last one of a page misses none.
func (s *Service) Movements(ctx context.Context, sku string, after stock.Position, limit int) ([]stock.Movement, error) {
	if err := stock.CheckSKU(sku); err != nil {
		return nil, err
	}
	if limit < 1 || limit > MaxPage {
		return nil, stock.Invalid("limit", "must be 1 to %d", MaxPage)
	}
	done, err := s.reading(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	movements, err := s.store.Movements(ctx, sku, after, limit)
	if err != nil {
		return nil, stock.Unavailable(err, "read movements")
	}
	return movements, nil
}
