package selling

import (
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"inventory/internal/stock"
)

// mostKnown bounds how many SKUs [known] has.
const mostKnown = 1 << 16

// known is what this process has read of SKUs. A worker begins with it, and an order of several SKUs that are all known is written,
// without a look at them. An old view costs only such a look: the write compares the layout, which every change of the terms raises, and
// what the segments hold; nothing is refused by it. So it lasts until the SKU is read again.
type known struct {
	mu    sync.Mutex
	bySKU map[string]*knownSKU // when it is full, a new one takes the place of any other
}

// knownSKU is a SKU that is known.
type knownSKU struct {
	stock.View           // less what orders of several SKUs have taken since
	at         time.Time // when it was read, or a worker wrote to it last
	read       bool      // all of it was read then
	segment    int       // from which these orders take, all the same one: so they meet neither each other nor, mostly, other processes
}

// learn keeps views that were read together. Orders take from all of them beginning at one random number: two large orders of the same
// SKUs that begin at different ones meet nowhere. If each SKU had its own, they would nearly always meet somewhere.
func (k *known) learn(views map[string]stock.View) {
	start, now := rand.IntN(stock.MaxSegments), time.Now()
	k.mu.Lock()
	defer k.mu.Unlock()
	for sku, view := range views {
		k.setLocked(sku, knownSKU{view, now, true, start % len(view.Segments)})
	}
}

// note keeps a view of one SKU, unless a younger one is known. Orders go on from the segment from which they took.
func (k *known) note(sku string, view stock.View, at time.Time, read bool) {
	view.Segments = slices.Clone(view.Segments)
	segment := rand.IntN(len(view.Segments))
	k.mu.Lock()
	defer k.mu.Unlock()
	if before := k.bySKU[sku]; before != nil {
		if before.at.After(at) {
			return
		}
		segment = before.segment % len(view.Segments)
	}
	k.setLocked(sku, knownSKU{view, at, read, segment})
}

func (k *known) setLocked(sku string, one knownSKU) {
	if k.bySKU[sku] == nil && len(k.bySKU) >= mostKnown {
		for other := range k.bySKU {
			delete(k.bySKU, other)
			break
		}
	}
	k.bySKU[sku] = &one
}

// view returns what is known of a SKU.
func (k *known) view(sku string) (view stock.View, is bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	one := k.bySKU[sku]
	if one == nil {
		return view, false
	}
	view = one.View
	view.Segments = slices.Clone(view.Segments)
	return view, true
}

// has reports whether all lines were seen to have enough, not longer ago than that.
func (k *known) has(lines []stock.Line, age time.Duration) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return !slices.ContainsFunc(lines, func(line stock.Line) bool {
		one := k.bySKU[line.SKU]
		return one == nil || !one.read || time.Since(one.at) > age || stock.Sum(one.Segments) < line.Quantity
	})
}

// place says from where an order is to be taken. It reports false if a SKU is not known, seems to hold too little, or is not allowed.
func (k *known) place(order stock.MultiOrder, allowed func(stock.View, stock.Line) bool) (lines []stock.Batch, known bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	lines = make([]stock.Batch, len(order.Lines))
	for i, line := range order.Lines {
		one := k.bySKU[line.SKU]
		if one == nil || allowed != nil && !allowed(one.View, line) {
			return nil, false
		}
		switch {
		case one.take(line.Quantity):
			lines[i] = placedLine(one.View, one.segment)
		case stock.Sum(one.Segments) >= line.Quantity:
			lines[i] = placedLine(one.View, stock.AllSegments)
			lines[i].Parts = stock.TakeFromFullest(one.Segments, line.Quantity)
		default:
			return nil, false
		}
	}
	return lines, true
}

// moveOn has the next orders take from other segments.
func (k *known) moveOn(order stock.MultiOrder) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, line := range order.Lines {
		if one := k.bySKU[line.SKU]; one != nil {
			one.segment = (one.segment + 1) % len(one.Segments)
		}
	}
}

// take takes units from one segment. It reports false if none seems to hold so many.
func (o *knownSKU) take(units int64) bool {
	for range o.Segments {
		if o.Segments[o.segment] >= units {
			o.Segments[o.segment] -= units
			return true
		}
		o.segment = (o.segment + 1) % len(o.Segments)
	}
	return false
}
