package postgres

import (
	"context"
	"fmt"
	"testing"
	"time"

	"inventory/internal/stock"
)

// TestWhichOrdersShareAWrite: those of which each row is known, not too many.
func TestWhichOrdersShareAWrite(t *testing.T) {
	t.Parallel()
	parts := func(n int) (all []stock.Part) {
		for segment := range n {
			all = append(all, stock.Part{Segment: segment, Quantity: 1})
		}
		return all
	}
	var one, divided, unknown, limited, many stock.PlacedLine
	divided.Segment, divided.Parts = -1, parts(2)
	unknown.Segment, limited.Limit = -1, 1
	many.Segment, many.Parts = -1, parts(stock.MaxLines)
	elsewhere := Access{Orders: func(context.Context, *Store, time.Time, []stock.Placement) ([]*time.Time, error) { return nil, nil }}
	for name, c := range map[string]struct {
		access Access
		lines  []stock.PlacedLine
		want   bool
	}{
		"of one segment each":           {lines: []stock.PlacedLine{one, one}, want: true},
		"of several segments":           {lines: []stock.PlacedLine{one, divided}, want: true},
		"of any segments":               {lines: []stock.PlacedLine{one, unknown}},
		"under a buyer limit":           {lines: []stock.PlacedLine{one, limited}},
		"of as many rows as may be":     {lines: []stock.PlacedLine{many}, want: true},
		"of more rows":                  {lines: []stock.PlacedLine{many, one}},
		"elsewhere":                     {elsewhere, []stock.PlacedLine{one, one}, true},
		"of several segments elsewhere": {elsewhere, []stock.PlacedLine{one, divided}, false},
	} {
		s := &Store{pool: database{access: c.access}}
		if got := s.mayShareOrder(stock.Placement{Lines: c.lines}); got != c.want {
			t.Errorf("an order %s: got %t, want %t", name, got, c.want)
		}
	}
}

// TestALargeOrderHasAWriteOfItsOwn: the largest goes first, or waits for the next write.
func TestALargeOrderHasAWriteOfItsOwn(t *testing.T) {
	t.Parallel()
	order := func(id string, lines int) (p stock.Placement) {
		p.Order.OrderID = id
		for n := range lines {
			p.Order.Lines = append(p.Order.Lines, stock.Line{SKU: fmt.Sprint(n), Quantity: 1})
			p.Lines = append(p.Lines, stock.PlacedLine{})
		}
		return p
	}
	for name, c := range map[string]struct{ first, second stock.Placement }{
		"a large one, then a small one": {order("1", stock.MaxLines), order("2", 1)},
		"a small one, then a large one": {order("1", 1), order("2", mostSharedLines)},
	} {
		room := roomForOrders()
		if !room(c.first) || room(c.second) {
			t.Errorf("%s: they share a write", name)
		}
	}
}

// Otherwise an order would be written under a fence that is not its own.
func TestOrdersThatKnowARowDifferentlyShareNoWrite(t *testing.T) {
	t.Parallel()
	order := func(id, sku string, line stock.Batch) stock.Placement {
		return stock.Placement{
			Order: stock.MultiOrder{OrderID: id, Lines: []stock.Line{{SKU: sku, Quantity: 1}}}, Lines: []stock.PlacedLine{{Batch: line}},
		}
	}
	fenced := stock.Batch{Layout: 3, Fence: stock.Fence{Token: 5, Owner: "a"}}
	room := roomForOrders()
	for _, c := range []struct {
		what  string
		order stock.Placement
		want  bool
	}{
		{"the first", order("1", "shoe", fenced), true},
		{"one of the same id", order("1", "hat", fenced), false},
		{"one with the same fence", order("2", "shoe", fenced), true},
		{"one with a later fence", order("3", "shoe", stock.Batch{Layout: 3, Fence: stock.Fence{Token: 6, Owner: "a"}}), false},
		{"one without a fence", order("4", "shoe", stock.Batch{Layout: 3}), true},
		{"one with an earlier fence", order("5", "shoe", stock.Batch{Layout: 3, Fence: stock.Fence{Token: 4, Owner: "a"}}), false},
		{"one with another layout", order("6", "shoe", stock.Batch{Layout: 4}), false},
		{"one of another SKU", order("7", "hat", stock.Batch{Layout: 4}), true},
	} {
		if got := room(c.order); got != c.want {
			t.Errorf("%s: there is room: %v, want %v", c.what, got, c.want)
		}
	}
}
