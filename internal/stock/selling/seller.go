package selling

import (
	"sync/atomic"

	"inventory/internal/stock"
)

const (
	queueLimit = 8192       // orders waiting before callers are told overloaded
	backlog      = batchLimit // orders waiting, while others are being written, for which it is worth a lane beside
	defaultWorkers  = 4          // of one SKU, where the configuration does not say
)

// seller is what sells one SKU in this process: a queue, and the lanes that serve it.
//
// One lane is there as long as the seller. It makes the largest batches, which cost the database least. Another one
// starts beside it when orders crowd in spite of that, for then the database is what they wait for, and it can write
// two segments side by side. Such a lane takes a batch when there is a crowd, from a segment that nobody else sells
// from and that holds enough for whole batches; where there is none, it ends.
type seller struct {
	service *Service
	sku     string
	queue   *queue
	notifications    atomic.Int64 // grows when stock has come from elsewhere: what lanes remember may be too little
	extra  atomic.Int32 // lanes that run beside the first
	// segments is how many there are, 0 before the first look: so many lanes can be of use.
	segments atomic.Int32
}

// learn takes over what a lane has seen.
func (s *seller) learn(view stock.View) {
	s.segments.Store(int32(len(view.Segments))) //nolint:gosec // at most MaxSegments
	s.queue.oneEach.Store(view.Terms.PerBuyerLimit > 0)
}

func newSeller(s *Service, sku string) *seller {
	return &seller{service: s, sku: sku, queue: newQueue()}
}

// push queues a request, and has another lane started if there is a crowd.
func (s *seller) push(r *request) error {
	waiting, err := s.queue.push(r, queueLimit)
	if err != nil || waiting < backlog {
		return err
	}
	for {
		running := s.extra.Load()
		if running+1 >= min(int32(s.service.mostWorkers), s.segments.Load()) { //nolint:gosec // a small number
			return nil
		}
		if s.extra.CompareAndSwap(running, running+1) {
			s.service.startExtra(s)
			return nil
		}
	}
}

func (s *seller) newWorker() *worker {
	return &worker{service: s.service, seller: s, sku: s.sku, queue: s.queue, segment: noSegment}
}
