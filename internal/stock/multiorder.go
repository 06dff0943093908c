package stock

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// MaxLines bounds an order of several SKUs.
const MaxLines = 1000

// MultiOrder is an order of several SKUs: all of it, or nothing. Its order id is global, and each line is a deduction of
// its SKU under that id as well.
type MultiOrder struct {
	OrderID    string
	BuyerID    string // may be empty where no SKU has a buyer limit
	Own        bool   // the order id is one of the buyer's own, and not the shop's
	ReserveFor time.Duration
	CallerMax  int64 // units of each line, see [Order]
	Lines      []Line
	// Caller is whose turn it is to place the order: callers take turns, those who order many lines more seldom.
	Caller string
}

// Line is what a [MultiOrder] asks of one SKU.
type Line struct {
	SKU      string
	Quantity int64
}

// Check holds an order to what is allowed.
func (o MultiOrder) Check() error {
	if len(o.Lines) == 0 || len(o.Lines) > MaxLines {
		return Invalid("lines", "must be 1 to %d", MaxLines)
	}
	if err := o.Of(Line{Quantity: 1}).Check(); err != nil {
		return err
	}
	seen := make(map[string]bool, len(o.Lines))
	for i, line := range o.Lines {
		if err := line.check(seen[line.SKU]); err != nil {
			return inLine(i, err)
		}
		seen[line.SKU] = true
	}
	return nil
}

func (l Line) check(again bool) error {
	if err := CheckSKU(l.SKU); err != nil {
		return err
	}
	if again {
		return Invalid("sku", "must not be there twice")
	}
	return checkQuantity(l.Quantity)
}

// inLine tells which line an error is about, in the names of its field.
func inLine(i int, err error) error {
	e, ok := errors.AsType[*Error](err)
	if !ok {
		return err
	}
	name := fmt.Sprintf("lines[%d].", i)
	return &Error{Code: e.Code, Field: name + e.Field, Message: name + e.Message}
}

// Of is a line as an order of its SKU.
func (o MultiOrder) Of(line Line) Order {
	return Order{OrderID: o.OrderID, BuyerID: o.BuyerID, Own: o.Own, Quantity: line.Quantity, ReserveFor: o.ReserveFor, CallerMax: o.CallerMax}
}

// SKUs are those of the lines, in their order.
func (o MultiOrder) SKUs() []string {
	skus := make([]string, len(o.Lines))
	for i, line := range o.Lines {
		skus[i] = line.SKU
	}
	return skus
}

// Sorted returns the order with its lines ascending by SKU, the order in which everybody locks them.
func (o MultiOrder) Sorted() MultiOrder {
	o.Lines = slices.Clone(o.Lines)
	slices.SortFunc(o.Lines, func(a, b Line) int { return strings.Compare(a.SKU, b.SKU) })
	return o
}

// Placement says where an order of several SKUs is to be taken from.
type Placement struct {
	Order MultiOrder   // lines ascending by SKU
	At    time.Time    // zero: the store's clock
	Lines []PlacedLine // as many as Order.Lines
	// KnownOnly takes nothing: CodeUnknownDeduction if the very order is not there already.
	KnownOnly bool
	// OfBuyer has another buyer's order be unknown.
	OfBuyer bool
}

// PlacedLine says where a line is to be taken from.
type PlacedLine struct {
	Layout     int64 // of the SKU, as far as is known
	Limit      int64 // per buyer; 0: none
	SaleWindow SaleWindow
	Segment    int   // the one that fills it, or -1: all of them together, as in a merge
	Fence      Fence // of that segment
}

// PlacedOrder is an order that is there already, its lines ascending by SKU, as they are now.
type PlacedOrder struct {
	BuyerID    string
	ReserveFor time.Duration
	Lines      []Deduction
}

// Replay answers a placement whose order was not inserted from the one that is there; nil: there is none.
func (p Placement) Replay(there *PlacedOrder) ([]Deduction, error) {
	order := p.Order
	if there == nil || (p.OfBuyer && there.BuyerID != order.BuyerID) {
		return nil, UnknownDeduction(order.Lines[0].SKU, order.OrderID)
	}
	same := there.BuyerID == order.BuyerID && there.ReserveFor == order.ReserveFor && len(there.Lines) == len(order.Lines)
	for i := 0; same && i < len(order.Lines); i++ {
		same = there.Lines[i].SKU == order.Lines[i].SKU && there.Lines[i].Order.Quantity == order.Lines[i].Quantity
	}
	if !same {
		return nil, OrderIDReused()
	}
	return there.Lines, nil
}

// Place takes the lines of a new order one after another, each as a batch from its segment or as a merge from all of them.
func (p Placement) Place(deduct func(Batch) (BatchResult, error), merge func(Merge) (MergeResult, error)) ([]Deduction, error) {
	taken := make([]Deduction, len(p.Lines))
	for i, line := range p.Lines {
		sku, orders := p.Order.Lines[i].SKU, []Order{p.Order.Of(p.Order.Lines[i])}
		var outcomes []Outcome
		var stale error // why a refusal may not be true, because of what has expired
		if line.Segment < 0 {
			result, err := merge(Merge{
				SKU: sku, Layout: line.Layout, Limit: line.Limit, SaleWindow: line.SaleWindow, At: p.At, Orders: orders,
			})
			if err != nil {
				return nil, err
			}
			if outcomes = result.Outcomes; result.Stale {
				stale = ErrStale
			}
		} else {
			result, err := deduct(Batch{
				SKU: sku, Layout: line.Layout, Segment: line.Segment, Fence: line.Fence, Limit: line.Limit,
				SaleWindow: line.SaleWindow, At: p.At, Orders: orders,
			})
			if err != nil {
				return nil, err
			}
			if outcomes = result.Outcomes; result.Stale {
				stale = ErrSpread // with the rows of all segments, what has expired goes back first
			}
		}
		if err := line.refusal(sku, outcomes[0], p.At, stale); err != nil {
			return nil, err
		}
		taken[i] = outcomes[0].Deduction
	}
	return taken, nil
}

// refusal returns the error of a line that was not taken.
func (l PlacedLine) refusal(sku string, o Outcome, at time.Time, stale error) error {
	switch {
	case o.Kind == Accepted:
		return nil
	case stale != nil:
		return stale
	case o.Kind == Known:
		return OrderIDReused()
	case o.Kind == Limited:
		return BuyerLimited(sku, l.Limit)
	case o.Kind == Closed:
		return l.SaleWindow.Refusal(sku, at)
	case l.Segment >= 0:
		return ErrSpread
	default:
		return Shortage(sku, o.Available)
	}
}
