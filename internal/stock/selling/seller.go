package selling

import (
	"sync/atomic"

	"inventory/internal/stock"
)

// defaultWorkers is how many workers a SKU has at most, if the configuration does not say.
const defaultWorkers = 4

// seller is what sells one SKU in this process: a queue, and the workers that serve it.
//
// The first worker is there as long as the seller. It makes the largest batches, which cost the database least. If there is
// a backlog all the same, orders wait for the database, which can write two segments side by side: an extra worker starts.
// It takes a batch when there is a backlog, from a segment that nobody else sells from and that holds enough for whole
// batches. Without a backlog it ends.
type seller struct {
	service       *Service
	sku           string
	queue         *queue
	notifications atomic.Int64 // of stock from elsewhere: what workers know of the segments may be too little
	extra         atomic.Int32 // extra workers that run
	segments      atomic.Int32 // so many workers can be of use; 0 before the first read
	locking       atomic.Bool  // a lock saves waiting: orders of several SKUs take it too
}

func newSeller(s *Service, sku string) *seller {
	q := newQueue()
	q.backlog = min(q.backlog, s.mostOrders)
	return &seller{service: s, sku: sku, queue: q}
}

// learn takes over what a worker has read of the SKU.
func (s *seller) learn(view stock.View) {
	s.segments.Store(int32(len(view.Segments))) //nolint:gosec // at most MaxSegments
	s.queue.oneEach.Store(view.Terms.PerBuyerLimit > 0)
}
