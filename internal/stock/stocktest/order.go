package stocktest

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"inventory/internal/stock"
)

// placing is an order of lines that are placed, ascending by SKU.
func placing(id string, lines []stock.Line, placed []stock.PlacedLine) stock.Placement {
	return stock.Placement{Order: stock.MultiOrder{OrderID: id, Lines: lines}, At: at, Lines: placed}
}

// place places an order of one line.
func (k *kit) place(ctx context.Context, id string, line stock.Line, placed stock.PlacedLine) ([]stock.Deduction, bool, error) {
	return k.store.Order(ctx, placing(id, []stock.Line{line}, []stock.PlacedLine{placed}))
}

// threeSKUs makes a with 10 units in 2 segments, b with 10 in 2, and c with 6 in 3 and 2 for each buyer.
func (k *kit) threeSKUs() {
	k.Helper()
	for _, n := range []stock.NewSKU{
		{SKU: "a", Stock: 10, Segments: 2},
		{SKU: "b", Stock: 10, Segments: 2},
		{SKU: "c", Stock: 6, Segments: 3, Terms: stock.Terms{PerBuyerLimit: 2}},
	} {
		if _, err := k.store.CreateSKU(k.Context(), n, at); err != nil {
			k.Fatal(err)
		}
	}
}

// left checks what SKUs have available.
func (k *kit) left(want map[string]int64) {
	k.Helper()
	views, err := k.store.Views(k.Context(), "a", "b", "c")
	if err != nil {
		k.Fatal(err)
	}
	for sku, units := range want {
		if got := sum(views[sku].Segments); got != units {
			k.Fatalf("SKU %s: %d left, want %d", sku, got, units)
		}
	}
}

// anywhere asks all segments of every SKU; here names one.
var (
	anywhere = stock.PlacedLine{Layout: firstLayout, Segment: -1}
	here     = stock.PlacedLine{Layout: firstLayout, Segment: 1}
)

func limitedTo(p stock.PlacedLine) stock.PlacedLine {
	p.Limit = 2
	return p
}

func testOrder(t *testing.T, k *kit) {
	k.threeSKUs()
	p := placing("o", []stock.Line{{SKU: "a", Quantity: 2}, {SKU: "b", Quantity: 7}, {SKU: "c", Quantity: 1}},
		[]stock.PlacedLine{here, anywhere, limitedTo(here)})
	p.Order.BuyerID, p.Order.ReserveFor = "x", time.Minute
	p.Lines[0].Fence = stock.Fence{Token: 5, Owner: "l"}
	lines, created, err := k.store.Order(t.Context(), p)
	if err != nil || !created || len(lines) != 3 {
		t.Fatalf("got %+v, %v, %v", lines, created, err)
	}
	for i, line := range p.Order.Lines {
		want := stock.Deduction{
			SKU: line.SKU, Order: stock.Order{OrderID: "o", BuyerID: "x", Quantity: line.Quantity, ReserveFor: time.Minute},
			Quantity: line.Quantity, Status: stock.StatusReserved, ExpiresAt: at.Add(time.Minute),
		}
		k.equal("line", fmt.Sprintf("%+v", lines[i]), fmt.Sprintf("%+v", want))
		d, err := k.store.Deduction(t.Context(), line.SKU, "o")
		if d.Parts, d.InOrder = nil, !d.InOrder; err != nil || fmt.Sprintf("%+v", d) != fmt.Sprintf("%+v", want) {
			t.Fatalf("read: %+v, %v", d, err)
		}
	}
	k.left(map[string]int64{"a": 8, "b": 3, "c": 5})
	// Again, from elsewhere: it is the same order.
	again := p
	again.Lines = []stock.PlacedLine{anywhere, here, limitedTo(anywhere)}
	again.KnownOnly = true
	for range 2 {
		same, created, err := k.store.Order(t.Context(), again)
		if err != nil || created || fmt.Sprintf("%+v", same) != fmt.Sprintf("%+v", lines) {
			t.Fatalf("again: %+v, %v, %v", same, created, err)
		}
		again.KnownOnly = false
	}
	// The fence stays behind.
	_, err = k.store.Deduct(t.Context(), stock.Batch{
		SKU: "a", Layout: firstLayout, Segment: 1, Fence: stock.Fence{Token: 4, Owner: "l"}, At: at, Orders: orders("f", 1),
	})
	k.fenced(err, map[int]int64{1: 5})
	// A line is not settled by itself; the order is known as it is now.
	alone, err := k.store.Settle(t.Context(), stock.Settlement{SKU: "b", At: at, Requests: []stock.SettleRequest{{OrderID: "o", Quantity: 4}}})
	if err != nil {
		t.Fatal(err)
	}
	k.code(alone[0].Err, stock.CodePartOfOrder)
	if _, err := k.store.Settle(t.Context(), stock.Settlement{SKU: "b", At: at, Requests: []stock.SettleRequest{{OrderID: "o", Quantity: 4, InOrder: true}}}); err != nil {
		t.Fatal(err)
	}
	same, created, err := k.store.Order(t.Context(), p)
	if err != nil || created || same[1].Quantity != 4 || same[1].Order.Quantity != 7 || same[1].Status != stock.StatusCommitted {
		t.Fatalf("after a commit: %+v, %v, %v", same, created, err)
	}
	k.left(map[string]int64{"a": 8, "b": 6, "c": 5})
}

func testOrderIDReused(t *testing.T, k *kit) {
	k.threeSKUs()
	lines := []stock.Line{{SKU: "a", Quantity: 2}, {SKU: "b", Quantity: 1}}
	if _, _, err := k.store.Order(t.Context(), placing("o", lines, []stock.PlacedLine{here, here})); err != nil {
		t.Fatal(err)
	}
	otherBuyer := placing("o", lines, []stock.PlacedLine{here, here})
	otherBuyer.Order.BuyerID = "y"
	otherTime := placing("o", lines, []stock.PlacedLine{here, here})
	otherTime.Order.ReserveFor = time.Second
	for _, p := range []stock.Placement{
		otherBuyer, otherTime,
		placing("o", lines[:1], []stock.PlacedLine{here}),
		placing("o", []stock.Line{{SKU: "a", Quantity: 2}, {SKU: "b", Quantity: 2}}, []stock.PlacedLine{here, here}),
		placing("o", []stock.Line{{SKU: "a", Quantity: 2}, {SKU: "c", Quantity: 1}}, []stock.PlacedLine{here, limitedTo(here)}),
	} {
		_, _, err := k.store.Order(t.Context(), p)
		k.code(err, stock.CodeOrderIDReused)
		p.KnownOnly = true
		_, _, err = k.store.Order(t.Context(), p)
		k.code(err, stock.CodeOrderIDReused)
	}
	// A deduction of one of the SKUs has the id, whichever way the line is taken.
	if _, err := k.store.Deduct(t.Context(), stock.Batch{SKU: "b", Layout: firstLayout, At: at, Orders: []stock.Order{order("d", 1)}}); err != nil {
		t.Fatal(err)
	}
	for _, placed := range []stock.PlacedLine{here, anywhere} {
		_, _, err := k.store.Order(t.Context(), placing("d", lines, []stock.PlacedLine{placed, placed}))
		k.code(err, stock.CodeOrderIDReused)
	}
	known := placing("new", lines, []stock.PlacedLine{here, here})
	known.KnownOnly = true
	_, _, err := k.store.Order(t.Context(), known)
	k.code(err, stock.CodeUnknownDeduction)
	k.left(map[string]int64{"a": 8, "b": 8, "c": 6})
}

// testOrderIsAllOrNothing refuses the last line, in every way: nothing of the first ones stays.
func testOrderIsAllOrNothing(t *testing.T, k *kit) {
	k.threeSKUs()
	for _, c := range []struct {
		name   string
		line   stock.Line
		placed stock.PlacedLine
		check  func(error) bool
	}{
		{"spread", stock.Line{SKU: "b", Quantity: 6}, here, func(err error) bool { return errors.Is(err, stock.ErrSpread) }},
		{"short", stock.Line{SKU: "b", Quantity: 11}, anywhere, isRefusal(stock.CodeInsufficientStock, "b", 10)},
		{"limited", stock.Line{SKU: "c", Quantity: 3}, limitedTo(here), isRefusal(stock.CodeBuyerLimit, "c", 0)},
		{"limited anywhere", stock.Line{SKU: "c", Quantity: 3}, limitedTo(anywhere), isRefusal(stock.CodeBuyerLimit, "c", 0)},
		{"unknown", stock.Line{SKU: "nope", Quantity: 1}, here, func(err error) bool { return stock.CodeOf(err) == stock.CodeUnknownSKU }},
		{"unknown anywhere", stock.Line{SKU: "nope", Quantity: 1}, anywhere, func(err error) bool { return stock.CodeOf(err) == stock.CodeUnknownSKU }},
		{"layout", stock.Line{SKU: "b", Quantity: 1}, stock.PlacedLine{Layout: 2, Segment: -1}, func(err error) bool { return errors.Is(err, stock.ErrLayout) }},
	} {
		p := placing("o", []stock.Line{{SKU: "a", Quantity: 6}, c.line}, []stock.PlacedLine{anywhere, c.placed})
		p.Order.BuyerID = "x"
		if lines, created, err := k.store.Order(t.Context(), p); created || lines != nil || !c.check(err) {
			t.Errorf("%s: got %+v, %v, %v", c.name, lines, created, err)
		}
		k.left(map[string]int64{"a": 10, "b": 10, "c": 6})
	}
	// The id is free for another try.
	p := placing("o", []stock.Line{{SKU: "a", Quantity: 10}, {SKU: "b", Quantity: 10}}, []stock.PlacedLine{anywhere, anywhere})
	if _, created, err := k.store.Order(t.Context(), p); err != nil || !created {
		t.Fatalf("then: %v, %v", created, err)
	}
	p.Order.OrderID = "p"
	_, _, err := k.store.Order(t.Context(), p)
	if !isRefusal(stock.CodeSoldOut, "a", 0)(err) {
		t.Errorf("sold out: %v", err)
	}
}

func isRefusal(code stock.Code, sku string, available int64) func(error) bool {
	return func(err error) bool {
		var e *stock.Error
		return errors.As(err, &e) && e.Code == code && e.SKU == sku && e.Available == available
	}
}

// testOrderTakesBackFirst: a line that asks all segments gets the units of expired reservations, and its buyer's count.
func testOrderTakesBackFirst(t *testing.T, k *kit) {
	k.threeSKUs()
	lines := []stock.Line{{SKU: "b", Quantity: 10}, {SKU: "c", Quantity: 2}}
	p := placing("o", lines, []stock.PlacedLine{anywhere, limitedTo(anywhere)})
	p.Order.BuyerID, p.Order.ReserveFor = "x", time.Minute
	if _, _, err := k.store.Order(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	p.Order.OrderID = "p"
	if _, _, err := k.store.Order(t.Context(), p); !isRefusal(stock.CodeSoldOut, "b", 0)(err) {
		t.Errorf("in time: %v", err)
	}
	p.At = at.Add(time.Minute)
	if _, created, err := k.store.Order(t.Context(), p); err != nil || !created {
		t.Errorf("after it: %v, %v", created, err)
	}
	k.left(map[string]int64{"a": 10, "b": 0, "c": 4})
}

// testOrderAtAStaleLimit: a buyer whose count is of reservations that have expired is not refused for it, though the line
// names a segment: it is taken, or all segments are to be asked.
func testOrderAtAStaleLimit(t *testing.T, k *kit) {
	k.threeSKUs()
	p := placing("o", []stock.Line{{SKU: "c", Quantity: 2}}, []stock.PlacedLine{limitedTo(here)})
	p.Order.BuyerID, p.Order.ReserveFor = "x", time.Minute
	if _, _, err := k.store.Order(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	p.Order.OrderID, p.Lines[0].Segment = "p", 0
	if _, _, err := k.store.Order(t.Context(), p); stock.CodeOf(err) != stock.CodeBuyerLimit {
		t.Errorf("in time: %v", err)
	}
	p.At = at.Add(time.Minute)
	_, _, err := k.store.Order(t.Context(), p)
	if errors.Is(err, stock.ErrSpread) {
		p.Lines[0].Segment = -1
		_, _, err = k.store.Order(t.Context(), p)
	}
	if err != nil {
		t.Errorf("after it: %v", err)
	}
}
