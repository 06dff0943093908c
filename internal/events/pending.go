package events

import (
	"sync"

	"inventory/internal/stock"
)

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

// take returns the collected events, and how many did not fit. From then on it collects into spare, whose contents are
// no longer needed.
func (p *pending) take(spare []stock.Event) (events []stock.Event, lost uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	events, lost = p.events, p.lost
	p.events, p.lost = spare[:0], 0
	clear(p.sales)
	return events, lost
}
