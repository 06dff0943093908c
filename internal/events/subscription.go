package events

import (
	"sync"

	"inventory/internal/stock"
)

// Delivery is one thing that a listener receives: an event, or the number of events lost.
type Delivery struct {
	stock.Event
	Process string // the one that published the event
	Number  uint64 // of the event, among the events of its process
	Lost    uint64 // above 0: this is not an event; that many are missing here
}

// maxBuffered bounds the events that wait for one listener: the largest batches of two processes fit.
const maxBuffered = 4096

// Subscription is the buffer of one listener. Get it from [Hub.Subscribe] and close it.
type Subscription struct {
	hub    *Hub
	caller Caller
	sku    string // "": all
	ready  chan struct{}
	done   chan struct{}
	end    sync.Once

	mu     sync.Mutex
	buffer []Delivery
}

// Ready receives when there is something to take.
func (s *Subscription) Ready() <-chan struct{} { return s.ready }

// Done is closed when the subscription has ended.
func (s *Subscription) Done() <-chan struct{} { return s.done }

// Take returns the buffered events, in order. It reuses spare, the slice of an earlier call that is no longer needed.
func (s *Subscription) Take(spare []Delivery) []Delivery {
	s.mu.Lock()
	defer s.mu.Unlock()
	taken := s.buffer
	s.buffer = spare[:0]
	return taken
}

// Close ends the subscription.
func (s *Subscription) Close() { s.hub.leave(s) }

// add buffers an event or a loss for the listener. If the buffer is full, an event becomes a loss.
func (s *Subscription) add(t Delivery) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.buffer) >= maxBuffered && t.Lost == 0 {
		t = Delivery{Lost: 1}
	}
	s.hub.lost.Add(t.Lost)
	if last := len(s.buffer) - 1; t.Lost > 0 && last >= 0 && s.buffer[last].Lost > 0 {
		s.buffer[last].Lost += t.Lost
	} else {
		s.buffer = append(s.buffer, t)
	}
	select {
	case s.ready <- struct{}{}:
	default: // a signal is pending already
	}
}

func (s *Subscription) finish() { s.end.Do(func() { close(s.done) }) }
