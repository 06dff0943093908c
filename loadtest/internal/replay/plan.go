// Package replay sends the order lines of a real shop to the service.
//
// NewPlan turns lines into requests, and Play sends them in a closed loop. Requests of one SKU are sent one after another in the
// order of the file, so on one process the outcome of each is fixed: two runs of the same lines sell, refuse and restock the same.
package replay

import (
	"fmt"
	"math"
	"slices"
	"time"

	"inventory/internal/stock"
	"inventory/loadtest/internal/history"
)

const (
	// mostSegments is how many segments a SKU has that has as many units.
	mostSegments = 10
	// maxIDBytes is the service's limit for ids and refs.
	maxIDBytes = 128
)

// Plan is what a replay does.
type Plan struct {
	Lines    int // all that were read
	LeftOut  int // those without a request
	From, To time.Time
	Prefix   string // of the names of the SKUs, so that a database can be used again
	SKUs     []SKU  // of all requests
	// Requests are orders, and returns of one SKU, which restock, in the order of the file.
	Requests []history.Operation
}

// SKU is one that orders or returns name.
type SKU struct {
	Name     string
	Demand   int64 // units that all its orders ask for
	Stock    int64 // units to start with
	Segments int
}

// planner collects a plan line by line.
type planner struct {
	plan     Plan
	whole    bool
	skus     map[string]int // index by name
	requests map[key]int    // index
}

// key is what the lines of one request have in common. That of a whole order has no SKU.
type key struct{ orderID, sku string }

// NewPlan plans the replay of lines, with stocks of factor times the demand. Orders are sent whole, or SKU by SKU. The names of SKUs
// begin with a prefix.
func NewPlan(lines []Line, factor float64, whole bool, prefix string) (Plan, error) {
	p := planner{plan: Plan{Prefix: prefix}, whole: whole, skus: map[string]int{}, requests: map[key]int{}}
	for _, l := range lines {
		if err := p.add(l); err != nil {
			return Plan{}, lineError(l.Number, err)
		}
	}
	if len(lines) > 0 {
		p.plan.Lines, p.plan.From, p.plan.To = len(lines), lines[0].At, lines[len(lines)-1].At
	}
	return p.plan, p.plan.stockUp(factor)
}

// add plans a line. Lines that are no goods, and corrections by the shop, are left out.
func (p *planner) add(l Line) error {
	quantity := l.Quantity
	if l.IsReturn() {
		quantity = -quantity
	}
	if !l.IsGoods() || quantity <= 0 {
		p.plan.LeftOut++
		return nil
	}
	request, name := p.request(l), p.plan.Prefix+l.SKU
	sku := known(p.skus, name, &p.plan.SKUs, SKU{Name: name})
	at := slices.IndexFunc(request.Lines, func(of history.Line) bool { return of.SKU == name })
	if at < 0 {
		at = len(request.Lines)
		request.Lines = append(request.Lines, history.Line{SKU: name})
	}
	if at > 0 {
		request.Kind = history.Order
	}
	sum := &request.Lines[at].Quantity
	*sum += quantity
	switch {
	case *sum > stock.MaxQuantity:
		return fmt.Errorf("order %q asks for more than %d units of %s", l.OrderID, stock.MaxQuantity, l.SKU)
	case len(request.Lines) > stock.MaxLines:
		return fmt.Errorf("order %q has more than %d SKUs", l.OrderID, stock.MaxLines)
	case l.IsReturn() && len(request.ID) > maxIDBytes:
		return fmt.Errorf("order_id %q of a return is too long for a ref of %d bytes with %s", l.OrderID, maxIDBytes, l.SKU)
	case !l.IsReturn():
		sku.Demand += quantity
	}
	return nil
}

// request is the one that a line belongs to. Its place is that of its first line.
func (p *planner) request(l Line) *history.Operation {
	k, o := key{l.OrderID, l.SKU}, history.Operation{Kind: history.Deduct, ID: l.OrderID, Buyer: l.BuyerID}
	switch {
	case l.IsReturn():
		o.Kind, o.ID = history.Restock, l.OrderID+"/"+l.SKU // one return may have several SKUs
	case p.whole:
		k.sku = ""
	}
	return known(p.requests, k, &p.plan.Requests, o)
}

// known is the element of a key, at first fresh.
func known[K comparable, T any](at map[K]int, key K, all *[]T, fresh T) *T {
	n, there := at[key]
	if !there {
		n, at[key] = len(*all), len(*all)
		*all = append(*all, fresh)
	}
	return &(*all)[n]
}

// stockUp gives every SKU its stock: factor times the demand, rounded down, but at least one unit.
func (p *Plan) stockUp(factor float64) error {
	if factor < 0 {
		return fmt.Errorf("a stock factor of %v", factor)
	}
	for i := range p.SKUs {
		s := &p.SKUs[i]
		// 0.29 times 100 is 29 units, and a little less in floating point.
		units := math.Floor(math.Nextafter(factor*float64(s.Demand), math.Inf(1)))
		if units > stock.MaxStock {
			return fmt.Errorf("stock of %s: %v times its demand of %d is more than %d", s.Name, factor, s.Demand, stock.MaxStock)
		}
		s.Stock = max(1, int64(units))
		s.Segments = int(min(mostSegments, s.Stock))
	}
	return nil
}
