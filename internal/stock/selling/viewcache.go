package selling

import (
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"inventory/internal/stock"
)

// The bounds of a [viewCache], in numbers of segments.
const (
	mostViewed = 1 << 20
	viewCosts  = 16 // what else a view has takes as much room as so many segments
)

// viewCache is what this process has read of SKUs. A worker begins with it, and an order of several SKUs is written by it, without a look
// at them. An old view costs a few writes that take nothing, and then the look: each write compares the layout, which every change of
// the terms raises, and what the segments hold. No order is refused for what a view lacks.
type viewCache struct {
	mu    sync.Mutex
	bySKU map[string]*cachedView // when it is full, a new one takes the place of others
	size  int
}

// cachedView is a view of a SKU.
type cachedView struct {
	stock.View           // without versions, and less what orders of several SKUs have taken since
	at         time.Time // when it was read, or a worker wrote to it last
	read       bool      // all of it was read then
	refilled   time.Time // when units came back that it may lack
	segment    int       // from which these orders take, all the same one: so they meet neither each other nor, mostly, other processes
}

func (v *cachedView) size() int { return len(v.Segments) + viewCosts }

// learn keeps views that were read together. Orders take from all of them beginning at one random number: two large orders of the same
// SKUs that begin at different ones meet nowhere. If each SKU had its own, they would nearly always meet somewhere.
func (c *viewCache) learn(views map[string]stock.View, at time.Time) {
	start := rand.IntN(stock.MaxSegments)
	c.mu.Lock()
	defer c.mu.Unlock()
	for sku, view := range views {
		c.setLocked(sku, &cachedView{View: view, at: at, read: true, segment: start})
	}
}

// note keeps a view of one SKU. Orders go on from the segment from which they took.
func (c *viewCache) note(sku string, view stock.View, at time.Time, read bool) {
	start := rand.IntN(stock.MaxSegments)
	c.mu.Lock()
	defer c.mu.Unlock()
	if before := c.bySKU[sku]; before != nil {
		start = before.segment
	}
	c.setLocked(sku, &cachedView{View: view, at: at, read: read, segment: start})
}

// setLocked keeps a copy of a view, unless there is a younger one.
func (c *viewCache) setLocked(sku string, one *cachedView) {
	before := c.bySKU[sku]
	if len(one.Segments) == 0 { // somebody has deleted its rows
		return
	}
	if before != nil && before.at.After(one.at) {
		before.segment = one.segment % len(before.Segments)
		return
	}
	one.Segments, one.Versions = slices.Clone(one.Segments), nil
	one.segment %= len(one.Segments)
	if before != nil {
		one.refilled = before.refilled
		c.deleteLocked(sku)
	}
	for other := range c.bySKU {
		if c.size+one.size() <= mostViewed {
			break
		}
		c.deleteLocked(other)
	}
	c.bySKU[sku] = one
	c.size += one.size()
}

func (c *viewCache) deleteLocked(sku string) {
	if one := c.bySKU[sku]; one != nil {
		delete(c.bySKU, sku)
		c.size -= one.size()
	}
}

// refill notes that units of SKUs have come back, of which older views do not know. A worker reads such a SKU first: otherwise it would
// sell from the segments that have something by its view, until these are empty.
func (c *viewCache) refill(skus ...string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, sku := range skus {
		if one := c.bySKU[sku]; one != nil {
			one.refilled = time.Now()
		}
	}
}

// skus returns the SKUs that have a view.
func (c *viewCache) skus() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Collect(maps.Keys(c.bySKU))
}

// view returns the view of a SKU for a worker that begins. It reports false if there is none, or units have come back since then.
func (c *viewCache) view(sku string) (view stock.View, is bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	one := c.bySKU[sku]
	if one == nil || one.refilled.After(one.at) {
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
func (c *viewCache) place(order stock.MultiOrder, allowed func(stock.View, stock.Line) bool) (lines []stock.PlacedLine, fits bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	lines = make([]stock.PlacedLine, len(order.Lines))
	for i, line := range order.Lines {
		one := c.bySKU[line.SKU]
		if one == nil || allowed != nil && !allowed(one.View, line) {
			return nil, false
		}
		switch {
		case one.takeUnits(line.Quantity):
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

// takeUnits takes units from one segment. It reports false if none seems to hold so many.
func (v *cachedView) takeUnits(units int64) bool {
	for range v.Segments {
		if v.Segments[v.segment] >= units {
			v.Segments[v.segment] -= units
			return true
		}
		v.segment = (v.segment + 1) % len(v.Segments)
	}
	return false
}
