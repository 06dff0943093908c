package events

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"sync"

	"inventory/internal/stock"
)

// batch holds the events that one process published at once. First is the number of its first event, and Next is the
// number of the first event after it. Numbers at the end without an event belong to lost events. A batch without numbers
// is a heartbeat.
type batch struct {
	Process string        `json:"process"`
	First   uint64        `json:"first"`
	Next    uint64        `json:"next"`
	Events  []stock.Event `json:"events,omitempty"`
}

func newBatch(process string, first uint64, published []stock.Event, lost uint64) batch {
	return batch{Process: process, First: first, Next: first + uint64(len(published)) + lost, Events: published}
}

var (
	errBatch      = errors.New("not a batch of events")
	processFormat = regexp.MustCompile(`^[a-z0-9]{1,32}$`)
	kinds         = []stock.EventKind{stock.EventSale, stock.EventMerge, stock.EventSoldOut, stock.EventBackInStock}
)

// decode reads a batch from another process. It is as strict as listeners need: any program may write to the channel.
func decode(text string) (b batch, err error) {
	if err := json.Unmarshal([]byte(text), &b); err != nil {
		return b, fmt.Errorf("read a batch of events: %w", err)
	}
	unknown := func(e stock.Event) bool { return !slices.Contains(kinds, e.Kind) }
	if !processFormat.MatchString(b.Process) || b.Next < b.First || b.Next-b.First < uint64(len(b.Events)) || slices.ContainsFunc(b.Events, unknown) {
		return b, errBatch
	}
	return b, nil
}

// maxPending bounds the events of one batch. The others are lost.
const maxPending = 2048

// pending collects published events until they are taken. Sales of one SKU become one event, at the place of the first.
// An event that changes whether the SKU is sold out keeps its place: sales before and after it stay separate.
type pending struct {
	mu     sync.Mutex
	events []stock.Event
	sales  map[sale]int // the index in events to which the next sale is added
	lost   uint64
}

// sale identifies the sales that become one event.
type sale struct {
	sku  string
	kind stock.EventKind
}

func newPending() *pending {
	return &pending{sales: make(map[sale]int)}
}

// add notes an event.
func (p *pending) add(e stock.Event) {
	p.mu.Lock()
	defer p.mu.Unlock()
	isSale := e.Kind == stock.EventSale || e.Kind == stock.EventMerge
	if at, ok := p.sales[sale{e.SKU, e.Kind}]; ok && isSale {
		sum := &p.events[at]
		sum.Orders, sum.Units, sum.At = sum.Orders+e.Orders, sum.Units+e.Units, e.At
		return
	}
	if len(p.events) >= maxPending {
		p.lost++
		return
	}
	if isSale {
		p.sales[sale{e.SKU, e.Kind}] = len(p.events)
	} else {
		delete(p.sales, sale{e.SKU, stock.EventSale})
		delete(p.sales, sale{e.SKU, stock.EventMerge})
	}
	p.events = append(p.events, e)
}

// takeEvents returns the collected events, and how many did not fit.
func (p *pending) takeEvents() (events []stock.Event, lost uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	events, lost = p.events, p.lost
	p.events, p.lost = nil, 0
	clear(p.sales)
	return events, lost
}
