package stocktest

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"inventory/internal/stock"
)

// placing is an order of lines that are placed, ascending by SKU.
func placing(id string, lines []stock.Line, placed []stock.Batch) stock.Placement {
	return stock.Placement{Order: stock.MultiOrder{OrderID: id, Lines: lines}, At: at, Lines: placedLines(placed...)}
}

// placedLines are lines that are taken as batches are.
func placedLines(batches ...stock.Batch) []stock.PlacedLine {
	return stock.Column(batches, func(b stock.Batch) stock.PlacedLine { return stock.PlacedLine{Batch: b} })
}

// places places an order that is new.
func (k *kit) places(p stock.Placement) []stock.Deduction {
	k.t.Helper()
	lines, created, err := k.store.Order(k.t.Context(), p)
	if err != nil || !created {
		k.t.Fatalf("order %s: created %v, %v", p.Order.OrderID, created, err)
	}
	return lines
}

// refusesOrder checks that an order is refused, or, without a code, that the very order was there.
func (k *kit) refusesOrder(p stock.Placement, want stock.Code) {
	k.t.Helper()
	_, created, err := k.store.Order(k.t.Context(), p)
	k.equal("refused order", []any{created, stock.CodeOf(err)}, []any{false, want})
}

// threeSKUs makes a with 10 units in 2 segments, b with 10 in 2, and c with 6 in 3 and 2 for each buyer.
func (k *kit) threeSKUs() {
	k.t.Helper()
	k.makes(stock.NewSKU{SKU: "a", Stock: 10, Segments: 2})
	k.makes(stock.NewSKU{SKU: "b", Stock: 10, Segments: 2})
	k.makes(stock.NewSKU{SKU: "c", Stock: 6, Segments: 3, Terms: stock.Terms{PerBuyerLimit: 2}})
}

// left checks what the three SKUs have available.
func (k *kit) left(a, b, c int64) {
	k.t.Helper()
	k.equal("left of a, b, c", []int64{k.available("a"), k.available("b"), k.available("c")}, []int64{a, b, c})
}

// anywhere asks all segments of every SKU; here names one.
var (
	anywhere = stock.Batch{Layout: firstLayout, Segment: stock.AllSegments}
	here     = stock.Batch{Layout: firstLayout, Segment: 1}
)

func limitedTo(p stock.Batch) stock.Batch {
	p.Limit = 2
	return p
}

// basket is an order of two of a, seven of b and one of c, reserved for a minute.
func basket(id string) stock.Placement {
	p := placing(id, []stock.Line{{SKU: "a", Quantity: 2}, {SKU: "b", Quantity: 7}, {SKU: "c", Quantity: 1}},
		[]stock.Batch{here, anywhere, limitedTo(here)})
	p.Order.BuyerID, p.Order.ReserveFor = "x", time.Minute
	return p
}

func testOrder(t *testing.T, k *kit) {
	k.threeSKUs()
	p := basket("o")
	p.Lines[0].Fence = stock.Fence{Token: 5, Owner: "l"}
	lines := k.places(p)
	for i, line := range p.Order.Lines {
		want := stock.Deduction{
			SKU: line.SKU, Order: stock.Order{OrderID: "o", BuyerID: "x", Quantity: line.Quantity, ReserveFor: time.Minute},
			Quantity: line.Quantity, Status: stock.StatusReserved, ExpiresAt: at.Add(time.Minute),
			CreatedAt: at,
		}
		k.equal("line", lines[i], want)
		d, err := k.store.Deduction(t.Context(), line.SKU, "o")
		if d.Parts, want.InOrder = nil, true; err != nil {
			t.Fatal(err)
		}
		k.equal("read", d, want)
	}
	k.left(8, 3, 5)
	// Again, from elsewhere: it is the same order.
	again := p
	again.Lines = placedLines(anywhere, here, limitedTo(anywhere))
	same, created, err := k.store.Order(t.Context(), again)
	k.equal("again", []any{same, created, err}, []any{lines, false, nil})
	// The fence stays behind.
	_, err = k.store.Deduct(t.Context(), stock.Batch{
		SKU: "a", Layout: firstLayout, Segment: 1, Fence: stock.Fence{Token: 4, Owner: "l"}, At: at, Orders: orders("f", 1),
	})
	k.fenced(err, map[int]int64{1: 5})
	// A line is not settled by itself; the order is known as it is now.
	half := commitOf("o", 4)
	k.code(k.settleOf("b", at, half)[0].Err, stock.CodePartOfOrder)
	half.InOrder = true
	k.settleOf("b", at, half)
	same, created, err = k.store.Order(t.Context(), p)
	if err != nil || created || same[1].Quantity != 4 || same[1].Order.Quantity != 7 || same[1].Status != stock.StatusCommitted {
		t.Fatalf("after a commit: %+v, %v, %v", same, created, err)
	}
	k.left(8, 6, 5)
}

func testOrderIDReused(t *testing.T, k *kit) {
	k.threeSKUs()
	both := []stock.Batch{here, here}
	lines := []stock.Line{{SKU: "a", Quantity: 2}, {SKU: "b", Quantity: 1}}
	k.places(placing("o", lines, both))
	otherBuyer, otherTime := placing("o", lines, both), placing("o", lines, both)
	otherBuyer.Order.BuyerID, otherTime.Order.ReserveFor = "y", time.Second
	for _, p := range []stock.Placement{
		otherBuyer, otherTime,
		placing("o", lines[:1], both[:1]),
		placing("o", []stock.Line{{SKU: "a", Quantity: 2}, {SKU: "b", Quantity: 2}}, both),
		placing("o", []stock.Line{{SKU: "a", Quantity: 2}, {SKU: "c", Quantity: 1}}, []stock.Batch{here, limitedTo(here)}),
	} {
		k.refusesOrder(p, stock.CodeOrderIDReused)
	}
	// A deduction of one of the SKUs has the id, whichever way the line is taken.
	if _, err := k.store.Deduct(t.Context(), stock.Batch{SKU: "b", Layout: firstLayout, At: at, Orders: []stock.Order{order("d", 1)}}); err != nil {
		t.Fatal(err)
	}
	for _, placed := range []stock.Batch{here, anywhere} {
		k.refusesOrder(placing("d", lines, []stock.Batch{placed, placed}), stock.CodeOrderIDReused)
	}
	k.left(8, 8, 6)
}

// testOrderIsAllOrNothing refuses the last line, in every way: nothing of the first ones stays.
func testOrderIsAllOrNothing(t *testing.T, k *kit) {
	k.threeSKUs()
	is := func(want error) func(error) bool { return func(err error) bool { return errors.Is(err, want) } }
	for _, c := range []struct {
		name   string
		line   stock.Line
		placed stock.Batch
		check  func(error) bool
	}{
		{"spread", stock.Line{SKU: "b", Quantity: 6}, here, is(stock.ErrSpread)},
		{"short", stock.Line{SKU: "b", Quantity: 11}, anywhere, isRefusal(stock.CodeInsufficientStock, "b", 10)},
		{"limited", stock.Line{SKU: "c", Quantity: 3}, limitedTo(here), isRefusal(stock.CodeBuyerLimit, "c", 0)},
		{"limited anywhere", stock.Line{SKU: "c", Quantity: 3}, limitedTo(anywhere), isRefusal(stock.CodeBuyerLimit, "c", 0)},
		{"unknown", stock.Line{SKU: "nope", Quantity: 1}, here, func(err error) bool { return stock.CodeOf(err) == stock.CodeUnknownSKU }},
		{"unknown anywhere", stock.Line{SKU: "nope", Quantity: 1}, anywhere, func(err error) bool { return stock.CodeOf(err) == stock.CodeUnknownSKU }},
		{"layout", stock.Line{SKU: "b", Quantity: 1}, stock.Batch{Layout: 2, Segment: stock.AllSegments}, is(stock.ErrLayout)},
	} {
		p := placing("o", []stock.Line{{SKU: "a", Quantity: 6}, c.line}, []stock.Batch{anywhere, c.placed})
		p.Order.BuyerID = "x"
		if lines, created, err := k.store.Order(t.Context(), p); created || lines != nil || !c.check(err) {
			t.Errorf("%s: got %+v, %v, %v", c.name, lines, created, err)
		}
		k.left(10, 10, 6)
	}
	// The id is free for another try.
	p := placing("o", []stock.Line{{SKU: "a", Quantity: 10}, {SKU: "b", Quantity: 10}}, []stock.Batch{anywhere, anywhere})
	k.places(p)
	p.Order.OrderID = "p"
	if _, _, err := k.store.Order(t.Context(), p); !isRefusal(stock.CodeSoldOut, "a", 0)(err) {
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
	p := placing("o", lines, []stock.Batch{anywhere, limitedTo(anywhere)})
	p.Order.BuyerID, p.Order.ReserveFor = "x", time.Minute
	k.places(p)
	p.Order.OrderID = "p"
	if _, _, err := k.store.Order(t.Context(), p); !isRefusal(stock.CodeSoldOut, "b", 0)(err) {
		t.Errorf("in time: %v", err)
	}
	p.At = at.Add(time.Minute)
	k.places(p)
	k.left(10, 0, 4)
}

// testOrderAtAStaleLimit: a buyer whose count is of reservations that have expired is not refused for it, though the line
// names a segment: it is taken, or all segments are to be asked.
func testOrderAtAStaleLimit(t *testing.T, k *kit) {
	k.threeSKUs()
	p := placing("o", []stock.Line{{SKU: "c", Quantity: 2}}, []stock.Batch{limitedTo(here)})
	p.Order.BuyerID, p.Order.ReserveFor = "x", time.Minute
	k.places(p)
	p.Order.OrderID, p.Lines[0].Segment = "p", 0
	k.refusesOrder(p, stock.CodeBuyerLimit)
	p.At = at.Add(time.Minute)
	_, _, err := k.store.Order(t.Context(), p)
	if errors.Is(err, stock.ErrSpread) {
		p.Lines[0].Segment = stock.AllSegments
		_, _, err = k.store.Order(t.Context(), p)
	}
	if err != nil {
		t.Errorf("after it: %v", err)
	}
}

// settlesOrder settles an order, without a look at it if the store does so, and checks what became of its lines, or why not of each.
func (k *kit) settlesOrder(when time.Time, request stock.SettleRequest, want string) {
	k.t.Helper()
	o := stock.OrderSettlement{Request: request, Keys: []string{request.OrderID}, At: when}
	results, err := k.store.SettleOrder(k.t.Context(), o)
	if o.SKUs = []string{"a", "b", "c"}; results == nil && err == nil {
		results, err = k.store.SettleOrder(k.t.Context(), o)
	}
	if err != nil {
		k.t.Fatal(err)
	}
	words := stock.Column(results, func(r stock.Settled) string { return fmt.Sprint(r.Deduction.Status, " ", r.Deduction.Quantity) })
	if err := o.Refusal(results); err != nil {
		words = []string{string(stock.CodeOf(err)) + " of"}
		for _, line := range err.(*stock.Error).Lines { //nolint:errorlint,forcetypeassert // Refusal returns it
			k.equal("code of a line", line.Code, stock.CodeOf(err))
			words = append(words, line.SKU)
		}
		k.equal(fmt.Sprintf("refused: %+v", request), strings.Join(words, " "), want)
		return
	}
	k.equal(fmt.Sprintf("settled: %+v", request), strings.Join(words, ", "), want)
}

// testSettleOrder: the lines of an order are settled together, all of them or none.
func testSettleOrder(_ *testing.T, k *kit) {
	k.threeSKUs()
	given := placing("given up", []stock.Line{{SKU: "a", Quantity: 2}, {SKU: "b", Quantity: 5}, {SKU: "c", Quantity: 1}},
		[]stock.Batch{here, here, here})
	given.Order.ReserveFor = time.Minute
	k.places(given)
	for range 2 {
		k.settlesOrder(at, cancel("given up"), "cancelled 2, cancelled 5, cancelled 1")
		k.left(10, 10, 6)
	}
	k.places(basket("o"))
	late := at.Add(time.Minute)
	k.settlesOrder(at, extend("o", "longer", time.Hour), "reserved 2, reserved 7, reserved 1")
	k.settlesOrder(late, returns("o", "", 0), "not_committed of a b c")
	for range 2 {
		k.settlesOrder(late, commit("o"), "committed 2, committed 7, committed 1")
	}
	k.settlesOrder(late, cancel("o"), "already_committed of a b c")
	k.settlesOrder(late, extend("o", "longer", time.Hour), "committed 2, committed 7, committed 1")
	k.settlesOrder(late, extend("o", "anew", time.Hour), "not_reserved of a b c")
	k.left(8, 3, 5)

	for _, alone := range []stock.SettleRequest{commit("o"), cancel("o"), giveBack("o", "r", 1), extend("o", "r", time.Hour)} {
		k.code(k.settleOf("a", late, alone)[0].Err, stock.CodePartOfOrder)
	}
	if got := k.settleOf("a", late, returns("o", "", 0))[0]; got.Err != nil { // a line may be returned alone
		k.t.Fatal(got.Err)
	}
	k.settlesOrder(late, commit("o"), "returned 2, committed 7, committed 1")
	for range 2 {
		k.settlesOrder(late, writesOff("o", "", 0), "returned 2, returned 7, returned 1")
	}
	k.left(10, 3, 5)
}

// testOrderExpires: an order that has expired cannot be settled, and its units are back. They can be taken again if all are there.
func testOrderExpires(t *testing.T, k *kit) {
	k.threeSKUs()
	late := at.Add(time.Minute)
	k.places(basket("o"))
	k.settlesOrder(late, commit("o"), "not_reserved of a b c")
	k.left(10, 10, 6)
	k.places(basket("p"))
	k.settlesOrder(late, cancel("p"), "expired 2, expired 7, expired 1")
	k.left(10, 10, 6)
	there, err := k.store.PlacedOrder(t.Context(), "o")
	if err != nil || there == nil || there.BuyerID != "x" || len(there.Lines) != 3 || there.Lines[2].Status != stock.StatusExpired {
		t.Fatalf("got %+v, %v", there, err)
	}
	if none, err := k.store.PlacedOrder(t.Context(), "none"); err != nil || none != nil {
		t.Fatalf("got %+v, %v, want none", none, err)
	}
	k.retakesOrder(late, "o", "")
	k.left(8, 3, 5)
	k.retakesOrder(late, "p", stock.CodeNotReserved) // there are not seven of b, so nothing of a is taken
	k.left(8, 3, 5)
}

// retakesOrder takes the units of an order again, or is refused.
func (k *kit) retakesOrder(when time.Time, id string, refused stock.Code) {
	k.t.Helper()
	request := commit(id)
	request.InOrder = true
	var retakes []stock.Retake
	for n, sku := range []string{"a", "b", "c"} {
		retakes = append(retakes, stock.Retake{SKU: sku, Layout: firstLayout, Limit: []int64{0, 0, 2}[n], At: when, Request: request})
	}
	_, err := k.store.Retake(k.t.Context(), time.Time{}, retakes...)
	k.equal("retake of "+id, stock.CodeOf(err), refused)
}

// testRetakeOfAHalf: a line whose reservation goes on is committed with those that are taken again.
func testRetakeOfAHalf(_ *testing.T, k *kit) {
	k.threeSKUs()
	k.places(basket("o"))
	longer := extend("o", "longer", time.Hour)
	longer.InOrder = true // no caller does so; but in older databases lines have ends of their own
	k.settleOf("b", at, longer)
	late := at.Add(time.Minute)
	k.settlesOrder(late, commit("o"), "not_reserved of a c")
	for range 2 {
		k.retakesOrder(late, "o", "")
		k.left(8, 3, 5)
	}
	k.settlesOrder(late, cancel("o"), "already_committed of a b c")
}
