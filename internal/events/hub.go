package events

import (
	"cmp"
	"context"
	"crypto/rand"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"inventory/internal/stock"
)

const (
	batchEvery    = 50 * time.Millisecond // how long a batch collects events
	mostListeners = 256
	mostOfCaller  = 32
	mostProcesses = 1 << 12 // whose positions are known
	mostChanges   = 1 << 16 // SKUs known to be sold out, or not
)

// Config holds what a [Hub] is made of.
type Config struct {
	// Redis carries events between processes. Nil: listeners get the events of this process only.
	Redis     redis.UniversalClient
	Channel   string       // the channel of Redis; processes with the same channel share their events
	Listeners int          // at most; 0 is 256
	Logger    *slog.Logger // nil: none
}

// Hub sends listeners the events of this process and of others. It is a [stock.Events], and safe for concurrent use.
type Hub struct {
	process   string // an id of this process, for its lifetime
	most      int
	published *pending
	relay     *relay // nil: there are no other processes
	listeners atomic.Int64
	lost      atomic.Uint64

	stopping context.Context
	stop     context.CancelFunc
	running  sync.WaitGroup

	mu            sync.Mutex
	subscriptions map[*Subscription]struct{}
	dismissed     bool
	positions     map[string]uint64 // the number of each process's next event
	changes       map[string]change // by SKU, what was seen last
}

var _ stock.Events = (*Hub)(nil)

// NewHub returns a hub that runs until Close.
func NewHub(c Config) *Hub {
	h := &Hub{
		process: strings.ToLower(rand.Text()[:12]), published: newPending(),
		most:          cmp.Or(c.Listeners, mostListeners),
		subscriptions: make(map[*Subscription]struct{}), positions: make(map[string]uint64), changes: make(map[string]change),
	}
	h.stopping, h.stop = context.WithCancel(context.Background())
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Redis != nil {
		h.relay = startRelay(c.Redis, c.Channel, h.process, h.deliver, c.Logger)
	}
	h.running.Go(h.run)
	return h
}

// Publish publishes an event. It does not wait, and does nothing if there can be no listener.
func (h *Hub) Publish(e stock.Event) {
	if h.relay == nil && h.listeners.Load() == 0 {
		return
	}
	h.published.add(e)
}

// Caller is who subscribes.
type Caller struct {
	ID    string // "": the process itself
	Buyer bool   // with a token. There may be any number of buyers, so a quarter of the places is for others
}

// Subscribe starts a subscription to one SKU, or with "" to all. It refuses with CodeOverloaded if there are too many listeners, in all, of
// buyers, or of this caller: none of them must take the places of all.
func (h *Hub) Subscribe(caller Caller, sku string) (*Subscription, error) {
	s := &Subscription{hub: h, caller: caller, sku: sku, ready: make(chan struct{}, 1)}
	h.mu.Lock()
	defer h.mu.Unlock()
	own, buyers := 0, 0
	for there := range h.subscriptions {
		if there.caller.ID == caller.ID {
			own++
		}
		if there.caller.Buyer {
			buyers++
		}
	}
	switch {
	case h.dismissed:
		return nil, &stock.Error{Code: stock.CodeUnavailable, Message: "the service is shutting down"}
	case len(h.subscriptions) >= h.most, caller.Buyer && buyers >= h.most-h.most/4:
		return nil, &stock.Error{Code: stock.CodeOverloaded, Message: "too many are listening; try again later"}
	case caller.ID != "" && own >= mostOfCaller:
		return nil, &stock.Error{Code: stock.CodeOverloaded, Message: "you are listening too often; end another stream first"}
	}
	if h.relay == nil && len(h.subscriptions) == 0 {
		clear(h.changes) // they may hold no longer: without a listener nothing was published
	}
	s.ended, s.end = context.WithCancel(context.Background())
	h.subscriptions[s] = struct{}{}
	h.listeners.Store(int64(len(h.subscriptions)))
	return s, nil
}

func (h *Hub) leave(s *Subscription) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.subscriptions, s)
	h.listeners.Store(int64(len(h.subscriptions)))
	s.end()
}

// Listeners returns how many subscriptions there are.
func (h *Hub) Listeners() int { return int(h.listeners.Load()) }

// Lost returns how many events all listeners together have missed.
func (h *Hub) Lost() uint64 { return h.lost.Load() }

// Process returns an id of this process, for the hub's lifetime. The ids of its events begin with it.
func (h *Hub) Process() string { return h.process }

// Failing reports whether Redis fails, so that listeners miss the events of other processes.
func (h *Hub) Failing() bool { return h.relay != nil && h.relay.failing() }

// Dismiss ends all subscriptions, and refuses new ones. Published events still reach other processes.
func (h *Hub) Dismiss() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.dismissed = true
	for s := range h.subscriptions {
		s.end()
	}
}

// Close sends the remaining events to other processes, and ends all that the hub has started. If ctx ends first, the
// remaining events are lost.
func (h *Hub) Close(ctx context.Context) error {
	h.Dismiss()
	h.stop()
	h.running.Wait()
	if h.relay != nil {
		h.relay.close(ctx)
	}
	return nil
}

// run makes batches of the published events, until Close.
func (h *Hub) run() {
	ticker := time.NewTicker(batchEvery)
	defer ticker.Stop()
	next := uint64(1)
	for stopped := false; !stopped; {
		select {
		case <-ticker.C:
		case <-h.stopping.Done():
			stopped = true
		}
		published, lost := h.published.takeEvents()
		if b := newBatch(h.process, next, published, lost); b.Next > b.First {
			next = b.Next
			h.deliver(b)
			if h.relay != nil {
				h.relay.send(b)
			}
		}
	}
}

// deliver gives the listeners the events of a process's batch.
func (h *Hub) deliver(b batch) {
	h.mu.Lock()
	defer h.mu.Unlock()
	next, known := h.positions[b.Process]
	if !known {
		next = b.First
	}
	if b.First < next {
		return // it is a repeat
	}
	if !known && len(h.positions) >= mostProcesses { // nearly all of them have ended
		clear(h.positions)
	}
	h.positions[b.Process] = b.Next
	if gap := b.First - next; gap > 0 {
		h.sendLoss(gap)
	}
	for i, e := range b.Events {
		h.sendEvent(Delivery{Event: e, Process: b.Process, Number: b.First + uint64(i)})
	}
	if gap := b.Next - b.First - uint64(len(b.Events)); gap > 0 {
		h.sendLoss(gap)
	}
}

// change is what was seen of a SKU last: whether it is sold out.
type change struct {
	kind stock.EventKind
	age  stock.Age
}

// isChange reports whether a look at a SKU says something new. Several processes look whether it is sold out or back in stock:
// listeners get what has changed, once, and nothing that was seen before the last change. Of a SKU of which nothing is known, only who
// has seen it empty knows that it is back.
func (h *Hub) isChange(t Delivery) bool {
	last, known := h.changes[t.SKU]
	if known && t.Age.Before(last.age) || !known && t.Kind == stock.EventBackInStock && !t.WasEmpty {
		return false
	}
	if len(h.changes) >= mostChanges {
		clear(h.changes)
	}
	h.changes[t.SKU] = change{t.Kind, t.Age}
	return !known || last.kind != t.Kind
}

// sendEvent gives an event to the listeners that want it.
func (h *Hub) sendEvent(t Delivery) {
	if (t.Kind == stock.EventSoldOut || t.Kind == stock.EventBackInStock) && !h.isChange(t) {
		return
	}
	for s := range h.subscriptions {
		if s.sku == "" || s.sku == t.SKU {
			s.add(t)
		}
	}
}

// sendLoss reports to all listeners that events are missing. Their SKUs are unknown, and the last change that was sent
// of a SKU may no longer hold.
func (h *Hub) sendLoss(lost uint64) {
	clear(h.changes)
	for s := range h.subscriptions {
		s.add(Delivery{Lost: lost})
	}
}

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
	ended  context.Context
	end    context.CancelFunc

	mu     sync.Mutex
	buffer []Delivery
}

// Ready receives when there is something to take.
func (s *Subscription) Ready() <-chan struct{} { return s.ready }

// Done is closed when the subscription has ended.
func (s *Subscription) Done() <-chan struct{} { return s.ended.Done() }

// Take returns the buffered events, in order.
func (s *Subscription) Take() []Delivery {
	s.mu.Lock()
	defer s.mu.Unlock()
	taken := s.buffer
	s.buffer = nil
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
