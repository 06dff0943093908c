package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"inventory/internal/busytest"
	"inventory/internal/stock"
)

// several is an order of one unit of each SKU, from segment 0.
func several(id string, skus ...string) stock.Placement {
	p := stock.Placement{Order: stock.MultiOrder{OrderID: id, BuyerID: "x"}}
	for _, sku := range skus {
		p.Order.Lines = append(p.Order.Lines, stock.Line{SKU: sku, Quantity: 1})
		p.Lines = append(p.Lines, stock.PlacedLine{Batch: stock.Batch{Layout: 1}})
	}
	return p
}

// placed is the result of an order.
type placed struct {
	lines   []stock.Deduction
	created bool
	err     error
}

// place begins to place an order.
func (s *sharers) place(p stock.Placement) chan placed {
	got := make(chan placed, 1)
	go func() {
		lines, created, err := s.store.Order(s.t.Context(), p)
		got <- placed{lines, created, err}
	}()
	return got
}

// placeTogether lets orders wait until all do, and returns the result of each.
func (s *sharers) placeTogether(orders ...stock.Placement) (all []placed) {
	s.t.Helper()
	letGo := s.store.HoldWriter()
	var got []chan placed
	for n, p := range orders {
		got = append(got, s.place(p))
		s.waiting(n + 1)
	}
	letGo()
	for _, one := range got {
		all = append(all, <-one)
	}
	return all
}

// TestOrdersShareAStatement: each order is kept as it was answered. Orders may have SKUs in common.
func TestOrdersShareAStatement(t *testing.T) {
	t.Parallel()
	busytest.Virtual(t, func(t *testing.T) {
		s := openSharers(t, 12)
		var orders []stock.Placement
		for n := range 10 {
			p := several(fmt.Sprint("o", n), "a", name(n+1), name(n+2))
			if n%2 == 0 {
				p.Order.ReserveFor = time.Minute
			}
			orders = append(orders, p)
		}
		for n, a := range s.placeTogether(orders...) {
			if a.err != nil || !a.created || len(a.lines) != 3 {
				t.Fatalf("order %d: %+v", n, a)
			}
			for i, line := range a.lines {
				d, err := s.store.Deduction(t.Context(), line.SKU, line.OrderID)
				if parts := d.Parts; err != nil || len(parts) != 1 || parts[0] != (stock.Part{Quantity: 1}) {
					t.Errorf("order %d: %+v, %v", n, d, err)
				}
				if d.Parts, d.InOrder = nil, !d.InOrder; fmt.Sprint(d) != fmt.Sprint(line) || line.SKU != orders[n].Order.Lines[i].SKU {
					t.Errorf("order %d: kept as %+v, told as %+v", n, d, line)
				}
			}
			again, created, err := s.store.Order(t.Context(), orders[n])
			if err != nil || created || fmt.Sprint(again) != fmt.Sprint(a.lines) {
				t.Errorf("order %d again: %+v, %t, %v", n, again, created, err)
			}
		}
		s.wrote(1+3, 10, 0) // one for all; of ten repeated orders three are tried before each is looked up
		s.holds(map[string]int64{"a": 10, "b": 19, "c": 18, "l": 19})
	})
}

// TestEachOrderStandsForItself: whatever is wrong with one order, the shared statement takes the others.
func TestEachOrderStandsForItself(t *testing.T) {
	t.Parallel()
	busytest.Virtual(t, func(t *testing.T) {
		s := openSharers(t, 16)
		known := several("known", "a", "b")
		if a := <-s.place(known); a.err != nil {
			t.Fatal(a.err)
		}
		fence := one("c", "fence")
		fence.Fence = stock.Fence{Token: 10, Owner: "x"}
		s.wants("fence", <-s.deduct(t.Context(), fence), stock.Accepted)
		reused, short, layout, closed, unknown, fenced := several("known", "a", "d"), several("short", "e", "f"), several("layout", "g", "h"),
			several("closed", "i", "j"), several("unknown", "k", "none"), several("fenced", "c", "l")
		short.Order.Lines[1].Quantity = 11
		layout.Lines[0].Layout = 2
		closed.Lines[1].SaleWindow.EndsAt = s.store.Now().Add(-time.Minute)
		fenced.Lines[0].Fence = stock.Fence{Token: 9, Owner: "y"}
		good, raised := several("good", "e", "g", "i", "m"), several("raised", "n", "o")
		raised.Lines[1].Fence = stock.Fence{Token: 7, Owner: "z"}
		got := s.placeTogether(known, reused, short, layout, closed, unknown, fenced, good, raised)
		for n, want := range []func(error) bool{
			1: func(err error) bool { return stock.CodeOf(err) == stock.CodeOrderIDReused },
			2: func(err error) bool { return errors.Is(err, stock.ErrSpread) },
			3: func(err error) bool { return errors.Is(err, stock.ErrLayout) },
			4: func(err error) bool { return stock.CodeOf(err) == stock.CodeSaleClosed },
			5: func(err error) bool { return stock.CodeOf(err) == stock.CodeUnknownSKU },
			6: func(err error) bool { return errors.Is(err, stock.ErrFenced) },
		} {
			if want != nil && (got[n].created || !want(got[n].err)) {
				t.Errorf("order %d: %+v", n, got[n])
			}
		}
		for n, created := range map[int]bool{0: false, 7: true, 8: true} {
			if got[n].err != nil || got[n].created != created {
				t.Errorf("order %d: %+v", n, got[n])
			}
		}
		older := one("o", "older")
		older.Fence = stock.Fence{Token: 6, Owner: "z"}
		if a := <-s.deduct(t.Context(), older); !errors.Is(a.err, stock.ErrFenced) {
			t.Errorf("the order has left no fence: %+v, want %v", a, stock.ErrFenced)
		}
		s.holds(map[string]int64{"a": 19, "b": 19, "c": 19, "d": 20, "e": 19, "f": 20, "g": 19, "h": 20, "i": 19, "j": 20, "k": 20, "l": 20, "m": 19, "n": 19, "o": 19})
	})
}

// TestARowThatSomebodyHoldsKeepsOnlyItsOwnOrder: the other orders do not wait.
func TestARowThatSomebodyHoldsKeepsOnlyItsOwnOrder(t *testing.T) {
	t.Parallel()
	for name, hold := range map[string]string{
		"a row":       `SELECT FROM stock_segments WHERE sku_id = 'b' FOR UPDATE`,
		"an order id": `INSERT INTO orders (order_id, created_at) VALUES ('waits', now())`,
		"a deduction's id": `INSERT INTO deductions (sku_id, order_id, quantity, segment, status, created_at)
			VALUES ('b', 'waits', 1, 1, 'committed', now())`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			busytest.Virtual(t, func(t *testing.T) {
				s := openSharers(t, 5)
				s.exec("BEGIN; " + hold)
				s.statements.begun.Store(0)
				letGo := s.store.HoldWriter()
				waits, goes := s.place(several("waits", "a", "b")), s.place(several("goes", "c", "d"))
				s.waiting(2)
				letGo()
				if a := <-goes; a.err != nil || !a.created {
					t.Errorf("another order: %+v", a)
				}
				stays(s, "it", waits)
				s.exec(`ROLLBACK`)
				if a := <-waits; a.err != nil || !a.created {
					t.Errorf("afterwards: %+v", a)
				}
				if n := s.statements.begun.Load(); name == "a row" && n != 1 { // the other order has no transaction of its own
					t.Errorf("%d transactions of single orders", n)
				}
				s.holds(map[string]int64{"a": 19, "b": 19, "c": 19, "d": 19})
			})
		})
	}
}

// TestOrdersThatDoNotAllFit: two orders want more of a row than it holds. Its units are sold anyway, and none twice.
func TestOrdersThatDoNotAllFit(t *testing.T) {
	t.Parallel()
	busytest.Virtual(t, func(t *testing.T) {
		s := openSharers(t, 3)
		first, second := several("first", "a", "b"), several("second", "a", "c")
		first.Order.Lines[0].Quantity, second.Order.Lines[0].Quantity = 6, 6
		got := s.placeTogether(first, second)
		taken := 0
		for _, a := range got {
			switch {
			case a.created:
				taken++
			case !errors.Is(a.err, stock.ErrSpread):
				t.Errorf("%+v", a)
			}
		}
		if taken != 1 {
			t.Errorf("%d orders of 6 were taken from a row of 10, want 1", taken)
		}
		s.holds(map[string]int64{"a": 14})
	})
}

// TestALateOrderWritesNothing: the other orders of its write are written alone.
func TestALateOrderWritesNothing(t *testing.T) {
	t.Parallel()
	busytest.Virtual(t, func(t *testing.T) {
		s := openSharers(t, 4)
		s.beLate(slowOrder)
		letGo := s.store.HoldWriter()
		late := make(chan error, 1)
		go func() {
			ctx, cancel := context.WithTimeout(t.Context(), soonOver)
			defer cancel()
			_, _, err := s.store.Order(ctx, several("late", "c", "d"))
			late <- err
		}()
		slow := s.place(several("slow", "a", "b"))
		s.waiting(2)
		letGo()
		if err := <-late; err == nil {
			t.Error("the late one was taken")
		}
		if a := <-slow; a.err != nil || !a.created {
			t.Errorf("the other: %+v", a)
		}
		s.holds(map[string]int64{"a": 19, "b": 19, "c": 20, "d": 20})
	})
}

// TestAnOrderThatNothingGoesWithCostsTheOthersNothing: a deduction has its id, which aborts each statement with it. The others have no
// transactions of their own.
func TestAnOrderThatNothingGoesWithCostsTheOthersNothing(t *testing.T) {
	t.Parallel()
	busytest.Virtual(t, func(t *testing.T) {
		s := openSharers(t, 12)
		s.wants("other", <-s.deduct(t.Context(), one("a", "other")), stock.Accepted)
		orders := []stock.Placement{several("other", "a", "b")}
		for n := range 9 {
			orders = append(orders, several(fmt.Sprint("o", n), name(n+1), name(n+2)))
		}
		s.statements.begun.Store(0)
		got := s.placeTogether(orders...)
		if code := stock.CodeOf(got[0].err); code != stock.CodeOrderIDReused {
			t.Errorf("the order: got %q, want %q", code, stock.CodeOrderIDReused)
		}
		for n, a := range got[1:] {
			if a.err != nil || !a.created {
				t.Errorf("order %d: %+v", n, a)
			}
		}
		if n := s.statements.begun.Load(); n != 1 {
			t.Errorf("got %d transactions of single orders, want 1", n)
		}
		s.holds(map[string]int64{"a": 19, "b": 19, "c": 18, "k": 19})
	})
}

// TestAnOrderThatIsWrittenAtOnceOrNotAtAll: what one write does not take is looked at first.
func TestAnOrderThatIsWrittenAtOnceOrNotAtAll(t *testing.T) {
	t.Parallel()
	busytest.Virtual(t, func(t *testing.T) {
		s := openSharers(t, 6)
		good, short, stale := several("good", "a", "b"), several("short", "c", "d"), several("stale", "e", "f")
		short.Order.Lines[0].Quantity, stale.Lines[1].Layout = 11, 2
		for _, p := range []*stock.Placement{&good, &short, &stale} {
			p.AtOnce = true
		}
		s.statements.begun.Store(0)
		got := s.placeTogether(good, short, stale)
		if got[0].err != nil || !got[0].created {
			t.Errorf("the good one: %+v", got[0])
		}
		for _, a := range got[1:] {
			if !errors.Is(a.err, stock.ErrLayout) {
				t.Errorf("got %+v, want %v", a, stock.ErrLayout)
			}
		}
		if lines, created, err := s.store.Order(t.Context(), good); err != nil || created || len(lines) != 2 {
			t.Errorf("once more: got %+v, %t, %v, want a replay", lines, created, err)
		}
		if n := s.statements.begun.Load(); n != 0 {
			t.Errorf("got %d transactions of single orders, want none", n)
		}
		s.holds(map[string]int64{"a": 19, "b": 19, "c": 20, "d": 20, "e": 20, "f": 20})
	})
}

// TestBatchesAndOrdersOfTheirSKUsShareAStatement: they take from the same rows, one of them under a lock.
func TestBatchesAndOrdersOfTheirSKUsShareAStatement(t *testing.T) {
	t.Parallel()
	busytest.Virtual(t, func(t *testing.T) {
		s := openSharers(t, 4)
		fenced := one("a", "p", "q")
		fenced.Fence, fenced.Orders[0].ReserveFor = stock.Fence{Token: 5, Owner: "x"}, time.Minute
		batches, orders := s.mix([]stock.Batch{fenced, one("d", "p")}, several("o", "a", "b"), several("n", "a", "c"))
		for n, a := range orders {
			if a.err != nil || !a.created {
				t.Errorf("order %d: got %+v, want it to be taken", n, a)
			}
		}
		s.wants("a", batches[0], stock.Accepted, stock.Accepted)
		s.wants("d", batches[1], stock.Accepted)
		if left := batches[0].result.Available; left != 6 {
			t.Errorf("the batch was told that %d units are left in its segment, want 6", left)
		}
		s.wrote(1, 0, 0)
		s.holds(map[string]int64{"a": 16, "b": 19, "c": 19, "d": 19})
		for id, inOrder := range map[string]bool{"p": false, "q": false, "o": true, "n": true} {
			if d, err := s.store.Deduction(t.Context(), "a", id); err != nil || d.InOrder != inOrder {
				t.Errorf("deduction %s: in an order: %t, %v, want %t", id, d.InOrder, err, inOrder)
			}
		}
		older := one("a", "older")
		older.Fence = stock.Fence{Token: 4, Owner: "x"}
		if a := <-s.deduct(t.Context(), older); !errors.Is(a.err, stock.ErrFenced) {
			t.Errorf("after the shared write: got %+v, want %v", a, stock.ErrFenced)
		}
	})
}

// mix lets batches and orders wait until all do, and returns the result of each.
func (s *sharers) mix(batches []stock.Batch, orders ...stock.Placement) (answers []answer, all []placed) {
	s.t.Helper()
	letGo := s.store.HoldWriter()
	var ofBatches []chan answer
	var ofOrders []chan placed
	for n, p := range orders {
		ofOrders = append(ofOrders, s.place(p))
		s.waiting(n + 1)
	}
	for _, b := range batches {
		ofBatches = append(ofBatches, s.deduct(s.t.Context(), b))
	}
	s.waiting(len(batches) + len(orders))
	letGo()
	for _, one := range ofBatches {
		answers = append(answers, <-one)
	}
	for _, one := range ofOrders {
		all = append(all, <-one)
	}
	return answers, all
}

// TestBatchAndOrderThatDisagreeAboutARow: the one that is right is taken.
func TestBatchAndOrderThatDisagreeAboutARow(t *testing.T) {
	t.Parallel()
	busytest.Virtual(t, func(t *testing.T) {
		for name, change := range map[string]func(s *sharers, right, wrong *stock.Batch){
			"layout": func(_ *sharers, _, wrong *stock.Batch) { wrong.Layout = 2 },
			"fence": func(s *sharers, right, wrong *stock.Batch) {
				s.exec(`UPDATE stock_segments SET fence = 9, fence_owner = 'x', version = version + 1 WHERE sku_id = 'a'`)
				right.Fence, wrong.Fence = stock.Fence{Token: 9, Owner: "x"}, stock.Fence{Token: 8, Owner: "y"}
			},
			"sale": func(s *sharers, _, wrong *stock.Batch) {
				wrong.SaleWindow.EndsAt = s.store.Now().Add(-time.Minute)
			},
		} {
			for _, batchIsRight := range []bool{true, false} {
				s := openSharers(t, 3)
				b, p := one("a", "batch"), several("order", "a", "b")
				ofBatch := stock.Batch{Layout: 1}
				if batchIsRight {
					change(s, &ofBatch, &p.Lines[0].Batch)
				} else {
					change(s, &p.Lines[0].Batch, &ofBatch)
				}
				b.Layout, b.Fence, b.SaleWindow = ofBatch.Layout, ofBatch.Fence, ofBatch.SaleWindow
				answers, all := s.mix([]stock.Batch{b, one("c", "o")}, p)
				taken := answers[0].err == nil && len(answers[0].kinds()) == 1 && answers[0].kinds()[0] == stock.Accepted
				if taken != batchIsRight || all[0].created == batchIsRight {
					t.Errorf("%s, the batch is right: %t: got %+v and %+v, want one of them taken", name, batchIsRight, answers[0], all[0])
				}
				s.wants("another", answers[1], stock.Accepted)
				s.holds(map[string]int64{"a": 19, "c": 19})
			}
		}
	})
}

// TestALineOfSeveralSegmentsSharesAStatement: if they hold what was seen. Otherwise the rows of all decide.
func TestALineOfSeveralSegmentsSharesAStatement(t *testing.T) {
	t.Parallel()
	busytest.Virtual(t, func(t *testing.T) {
		s := openSharers(t, 3)
		divided := func(id string, parts ...stock.Part) stock.Placement {
			p := several(id, "a", "b")
			p.Order.ReserveFor = time.Minute
			p.Order.Lines[0].Quantity = 0
			for _, part := range parts {
				p.Order.Lines[0].Quantity += part.Quantity
			}
			p.Lines[0].Segment, p.Lines[0].Parts = -1, parts
			return p
		}
		first := divided("first", stock.Part{Segment: 0, Quantity: 9}, stock.Part{Segment: 1, Quantity: 4})
		batches, orders := s.mix([]stock.Batch{one("a", "batch"), one("c", "o")}, first, several("second", "b", "c"))
		s.wants("a", batches[0], stock.Accepted)
		s.wants("c", batches[1], stock.Accepted)
		for n, a := range orders {
			if a.err != nil || !a.created {
				t.Errorf("order %d: got %+v, want it to be taken", n, a)
			}
		}
		s.wrote(1, 0, 0)
		for id, want := range map[string][]stock.Part{"first": first.Lines[0].Parts, "batch": {{Segment: 0, Quantity: 1}}} {
			if d, err := s.store.Deduction(t.Context(), "a", id); err != nil || !slices.Equal(d.Parts, want) {
				t.Errorf("deduction %s: got parts %v, %v, want %v", id, d.Parts, err, want)
			}
		}
		s.holds(map[string]int64{"a": 6, "b": 18, "c": 18})
		wrong := divided("wrong", stock.Part{Segment: 0, Quantity: 2}, stock.Part{Segment: 1, Quantity: 2}) // segment 0 holds nothing
		if a := <-s.place(wrong); a.err != nil || !a.created {
			t.Errorf("of what was seen wrongly: got %+v, want it to be taken from segment 1", a)
		}
		wrong.Order.OrderID, wrong.AtOnce = "at once", true
		if a := <-s.place(wrong); !errors.Is(a.err, stock.ErrLayout) {
			t.Errorf("at once: got %+v, want %v", a, stock.ErrLayout)
		}
		s.holds(map[string]int64{"a": 2, "b": 17, "c": 18})
		settled, err := s.store.Settle(t.Context(), stock.Settlement{SKU: "a", Requests: []stock.SettleRequest{
			{OrderID: "first", Verb: stock.Cancel, InOrder: true},
		}})
		if err != nil || settled[0].Err != nil || settled[0].Returned != 13 {
			t.Errorf("cancel: got %+v, %v, want 13 units back", settled, err)
		}
		s.holds(map[string]int64{"a": 15})
	})
}
