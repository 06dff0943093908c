package selling

import (
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"inventory/internal/stock"
)

// mostViews bounds how many SKUs a [viewCache] has.
const mostViews = 1 << 16

// viewCache is what this process has read of SKUs. A worker begins with it, and an order of several SKUs is written by it, without a look
// at them. An old view costs only such a look: the write compares the layout, which every change of the terms raises, and what the
// segments hold; nothing is refused by it. So it lasts until the SKU is read again.
type viewCache struct {
	mu    sync.Mutex
	bySKU map[string]*cachedView // when it is full, a new one takes the place of any other
}

// cachedView is a view of a SKU.
type cachedView struct {
	stock.View           // less what orders of several SKUs have taken since
	at         time.Time // when it was read, or a worker wrote to it last
	read       bool      // all of it was read then
	segment    int       // from which these orders take, all the same one: so they meet neither each other nor, mostly, other processes
}

// learn keeps views that were read together. Orders take from all of them beginning at one random number: two large orders of the same
// SKUs that begin at different ones meet nowhere. If each SKU had its own, they would nearly always meet somewhere.
func (c *viewCache) learn(views map[string]stock.View) {
	start, now := rand.IntN(stock.MaxSegments), time.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	for sku, view := range views {
		c.setLocked(sku, cachedView{view, now, true, start % len(view.Segments)})
	}
}

// note keeps a view of one SKU, unless there is a younger one. Orders go on from the segment from which they took.
func (c *viewCache) note(sku string, view stock.View, at time.Time, read bool) {
	view.Segments = slices.Clone(view.Segments)
	segment := rand.IntN(len(view.Segments))
	c.mu.Lock()
	defer c.mu.Unlock()
	if before := c.bySKU[sku]; before != nil {
		if before.at.After(at) {
			return
		}
		segment = before.segment % len(view.Segments)
	}
	c.setLocked(sku, cachedView{view, at, read, segment})
}

func (c *viewCache) setLocked(sku string, one cachedView) {
	if c.bySKU[sku] == nil && len(c.bySKU) >= mostViews {
		for other := range c.bySKU {
			delete(c.bySKU, other)
			break
		}
	}
	c.bySKU[sku] = &one
}

// view returns the view of a SKU.
func (c *viewCache) view(sku string) (view stock.View, is bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	one := c.bySKU[sku]
	if one == nil {
		return view, false
	}
	view = one.View
	view.Segments = slices.Clone(view.Segments)
	return view, true
}

// has reports whether all lines were seen to have enough, not longer ago than that.
func (c *viewCache) has(lines []stock.Line, age time.Duration) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return !slices.ContainsFunc(lines, func(line stock.Line) bool {
		one := c.bySKU[line.SKU]
		return one == nil || !one.read || time.Since(one.at) > age || stock.Sum(one.Segments) < line.Quantity
	})
}

// place says from where an order is to be taken. It reports false if a SKU has no view, seems to hold too little, or is not allowed.
func (c *viewCache) place(order stock.MultiOrder, allowed func(stock.View, stock.Line) bool) (lines []stock.Batch, fits bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	lines = make([]stock.Batch, len(order.Lines))
	for i, line := range order.Lines {
		one := c.bySKU[line.SKU]
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
func (c *viewCache) moveOn(order stock.MultiOrder) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, line := range order.Lines {
		if one := c.bySKU[line.SKU]; one != nil {
			one.segment = (one.segment + 1) % len(one.Segments)
		}
	}
}

// take takes units from one segment. It reports false if none seems to hold so many.
func (o *cachedView) take(units int64) bool {
	for range o.Segments {
		if o.Segments[o.segment] >= units {
			o.Segments[o.segment] -= units
			return true
		}
		o.segment = (o.segment + 1) % len(o.Segments)
	}
	return false
}
