// Package replay sends the order lines of a real shop through the service, and compares what was answered with the
// rows.
//
// NewPlan turns lines into requests, Run sends them in a closed loop, and NewResult holds the answers against the rows as package
// history does. Requests of one SKU are sent one after another in the order of the file, so on one process what becomes
// of each is fixed: two runs of the same lines sell, refuse and restock the same.
package replay

import (
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"time"

	"inventory/internal/stock"
	"inventory/loadtest/internal/history"
	"inventory/loadtest/internal/orderfile"
)

// mostSegments is how many segments a SKU gets that has units enough.
const mostSegments = 10

// maxRefBytes is the service's limit.
const maxRefBytes = 128

// Plan is what a replay does.
type Plan struct {
	Lines    int // all that were read
	LeftOut  int // those that no request stands for
	From, To time.Time
	SKUs     []SKU     // those that a request names
	Requests []Request // in the order of the file
}

// SKU is one that orders or returns name.
type SKU struct {
	Name     string // in the file
	Demand   int64  // units that all its orders ask for
	Stock    int64  // units to start with
	Segments int
}

// Request is an order, or a return of one SKU, which restocks. SKUs have the names of the file.
type Request struct {
	history.Operation
	Stands int // for so many lines of the file
}

// planner collects a plan line by line.
type planner struct {
	plan     Plan
	whole    bool
	skus     map[string]int // index by name
	requests map[key]int    // index
}

// key is what makes lines one request: the service takes an order id once from a SKU. That of a whole order has no SKU.
type key struct{ orderID, sku string }

// NewPlan plans the replay of lines, with stocks of factor times the demand. Orders are sent whole, all or nothing, or SKU
// by SKU.
func NewPlan(lines []orderfile.Line, factor float64, whole bool) (Plan, error) {
	p := planner{whole: whole, skus: map[string]int{}, requests: map[key]int{}}
	for _, l := range lines {
		if err := p.add(l); err != nil {
			return Plan{}, &orderfile.LineError{Line: l.Number, Err: err}
		}
	}
	if len(lines) > 0 {
		p.plan.Lines, p.plan.From, p.plan.To = len(lines), lines[0].At, lines[len(lines)-1].At
	}
	return p.plan, p.plan.stockUp(factor)
}

// add plans a line. What is no goods, and what corrects the shop's books, is nothing that a buyer did.
func (p *planner) add(l orderfile.Line) error {
	quantity := l.Quantity
	if l.IsReturn() {
		quantity = -quantity
	}
	if !l.IsGoods() || quantity <= 0 {
		p.plan.LeftOut++
		return nil
	}
	request := p.request(l)
	request.Stands++
	at := slices.IndexFunc(request.Lines, func(of history.Line) bool { return of.SKU == l.SKU })
	if at < 0 {
		at = len(request.Lines)
		request.Lines = append(request.Lines, history.Line{SKU: l.SKU})
	}
	if at > 0 {
		request.Kind = history.Order
	}
	sum, sku := &request.Lines[at].Quantity, p.sku(l.SKU)
	*sum += quantity
	switch {
	case *sum > stock.MaxQuantity:
		return fmt.Errorf("order %q asks for more than %d units of %s", l.OrderID, stock.MaxQuantity, l.SKU)
	case len(request.Lines) > stock.MaxLines:
		return fmt.Errorf("order %q has more than %d SKUs", l.OrderID, stock.MaxLines)
	case l.IsReturn() && len(request.ID) > maxRefBytes:
		return fmt.Errorf("order_id %q of a return is too long for a ref of %d bytes with %s", l.OrderID, maxRefBytes, l.SKU)
	case !l.IsReturn():
		sku.Demand += quantity
	}
	return nil
}

// request finds or begins the request that a line belongs to. Its place is that of its first line.
func (p *planner) request(l orderfile.Line) *Request {
	k, o := key{l.OrderID, l.SKU}, history.Operation{Kind: history.Deduct, ID: l.OrderID, Buyer: l.BuyerID}
	switch {
	case l.IsReturn():
		o.Kind, o.ID = history.Restock, refOf(l.OrderID, l.SKU)
	case p.whole:
		k.sku = ""
	}
	return known(p.requests, k, &p.plan.Requests, Request{Operation: o})
}

func (p *planner) sku(name string) *SKU { return known(p.skus, name, &p.plan.SKUs, SKU{Name: name}) }

// known is what has a key, which begins as fresh.
func known[K comparable, T any](at map[K]int, key K, all *[]T, fresh T) *T {
	n, there := at[key]
	if !there {
		n, at[key] = len(*all), len(*all)
		*all = append(*all, fresh)
	}
	return &(*all)[n]
}

// refOf makes a return's ref, which names the order and the SKU because one return may name several.
func refOf(orderID, sku string) string { return orderID + "/" + sku }

// stockUp gives every SKU its stock: factor times the demand, rounded down, and one unit at least.
func (p *Plan) stockUp(factor float64) error {
	// Exactly the decimal that was written: 0.29 times 100 is 29 units, though not in floating point.
	exact, ok := new(big.Rat).SetString(strconv.FormatFloat(factor, 'f', -1, 64))
	if !ok || exact.Sign() < 0 {
		return fmt.Errorf("a stock factor of %v", factor)
	}
	for i := range p.SKUs {
		s := &p.SKUs[i]
		units := new(big.Rat).Mul(exact, new(big.Rat).SetInt64(s.Demand))
		whole := new(big.Int).Quo(units.Num(), units.Denom())
		if !whole.IsInt64() || whole.Int64() > stock.MaxStock {
			return fmt.Errorf("stock of %s: %v times its demand of %d is more than %d", s.Name, factor, s.Demand, stock.MaxStock)
		}
		s.Stock = max(1, whole.Int64())
		s.Segments = int(min(mostSegments, s.Stock))
	}
	return nil
}
