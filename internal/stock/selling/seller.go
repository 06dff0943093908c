package selling

import (
	"sync/atomic"

	"inventory/internal/stock"
)

// seller is what sells one SKU in this process: a queue, and the worker that serves it. There is one worker, since it makes the
// largest batches, which cost the database least.
type seller struct {
	service       *Service
	sku           string
	queue         *queue
	notifications atomic.Int64 // of stock from elsewhere: what workers know of the segments may be too little
	locking       atomic.Bool  // a lock saves waiting: orders of several SKUs take it too
}

func newSeller(s *Service, sku string) *seller {
	return &seller{service: s, sku: sku, queue: newQueue()}
}

// learn takes over what a worker has read of the SKU.
func (s *seller) learn(view stock.View) {
	s.queue.oneEach.Store(view.Terms.PerBuyerLimit > 0)
}
