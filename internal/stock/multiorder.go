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

// MultiOrder is an order of several SKUs: all of it, or nothing. Its order id is global, and each line is a deduction
// of its SKU under that id as well.
type MultiOrder struct {
	OrderID    string
	BuyerID    string // may be empty if no SKU has a buyer limit
	Own        bool   // the order id is one of the buyer's own, and not the shop's
	ReserveFor time.Duration
	CallerMax  int64 // units of each line, see [Order]
	Lines      []Line
	// Caller is the one whose turn places the order. Callers take turns; one that orders many lines gets fewer turns.
	Caller string
}

// Line is what a [MultiOrder] asks of one SKU.
type Line struct {
	SKU      string
	Quantity int64
}

// Check refuses an order that is not allowed.
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

// inLine adds the line that an error is about to its field and its message.
func inLine(i int, err error) error {
	e, ok := errors.AsType[*Error](err)
	if !ok {
		return err
	}
	name := fmt.Sprintf("lines[%d].", i)
	return &Error{Code: e.Code, Field: name + e.Field, Message: name + e.Message}
}

// Of returns a line as an order of its SKU.
func (o MultiOrder) Of(line Line) Order {
	return Order{OrderID: o.OrderID, BuyerID: o.BuyerID, Own: o.Own, Quantity: line.Quantity, ReserveFor: o.ReserveFor, CallerMax: o.CallerMax}
}

// SKUs returns the SKUs of the lines, in their order.
func (o MultiOrder) SKUs() []string {
	return Column(o.Lines, func(l Line) string { return l.SKU })
}

// Sorted returns the order with its lines ascending by SKU, the order in which every write locks them.
func (o MultiOrder) Sorted() MultiOrder {
	o.Lines = slices.Clone(o.Lines)
	slices.SortFunc(o.Lines, func(a, b Line) int { return strings.Compare(a.SKU, b.SKU) })
	return o
}
