package selling

import (
	"context"
	"errors"
	"strconv"
	"testing"
	"time"

	"inventory/internal/stock"
)

// pushed puts requests into a queue.
func pushed(t *testing.T, q *queue, requests ...*request) {
	t.Helper()
	for _, r := range requests {
		if _, err := q.push(r, queueLimit); err != nil {
			t.Fatal(err)
		}
	}
}

// told returns the answer to a request; the test fails if there is none.
func told(t *testing.T, r *request) Result {
	t.Helper()
	select {
	case a := <-r.answer:
		return a
	default:
		t.Fatalf("order %s has no answer", r.order.OrderID)
		return Result{}
	}
}

// emptied fails if a queue counts anything.
func emptied(t *testing.T, q *queue) {
	t.Helper()
	if q.length() != 0 || len(q.byID) != 0 || q.behind != 0 || len(q.buyers) != 0 {
		t.Errorf("an empty queue counts %d waiting, %v, %d behind, buyers %v", q.length(), q.byID, q.behind, q.buyers)
	}
}

func TestQueueHoldsOneOfAnOrderID(t *testing.T) {
	q := newQueue()
	first, again := ask(t.Context(), "a"), ask(t.Context(), "a")
	first.order.BuyerID, again.order.BuyerID = "b", "b"
	pushed(t, q, first, ask(t.Context(), "c"), again)
	if batch := q.pop(10); ids(batch) != "ac" {
		t.Fatalf("got %q", ids(batch))
	}
	emptied(t, q)
	first.replyOutcome(stock.Outcome{Kind: stock.Accepted, Deduction: stock.Deduction{Order: stock.Order{OrderID: "a"}, Quantity: 1}})
	if a := told(t, first); !a.Created || a.Err != nil {
		t.Errorf("the first was told %+v", a)
	}
	if a := told(t, again); a.Created || a.Err != nil || a.Deduction.OrderID != "a" {
		t.Errorf("the second was told %+v", a)
	}
}

func TestWhoAsksTheSameIsRefusedAlike(t *testing.T) {
	q := newQueue()
	first, again := ask(t.Context(), "a"), ask(t.Context(), "a")
	pushed(t, q, first, again)
	q.pop(10)
	first.refuse(stock.SoldOutError("sku"))
	for _, r := range []*request{first, again} {
		if a := told(t, r); stock.CodeOf(a.Err) != stock.CodeSoldOut {
			t.Errorf("got %+v, want %s", a, stock.CodeSoldOut)
		}
	}
}

// After a refusal, the order id may be tried with another content. After an acceptance it may not: the store refuses
// that.
func TestWhoAsksForSomethingElseIsDecidedApart(t *testing.T) {
	q := newQueue()
	first, other, settling := ask(t.Context(), "a"), ask(t.Context(), "a"), ask(t.Context(), "a")
	other.order.Quantity = 2
	settling.settle.Verb = stock.Cancel
	pushed(t, q, first, other, settling)
	for _, r := range []*request{first, other, settling} {
		if batch := q.pop(10); len(batch) != 1 || batch[0] != r {
			t.Fatalf("got %v", batch)
		}
		r.refuse(stock.SoldOutError("sku"))
		told(t, r)
	}
	emptied(t, q)
}

// The first caller may leave: the next one takes its place, and the requests behind it stay there.
func TestTheNextTakesThePlaceOfWhoHasGone(t *testing.T) {
	q := newQueue()
	gone, cancel := context.WithCancel(t.Context())
	late := ask(t.Context(), "a")
	late.deadline = time.Now().Add(-time.Second)
	first, also := ask(gone, "a"), ask(gone, "a")
	next, last := ask(t.Context(), "a"), ask(t.Context(), "a")
	for _, r := range []*request{first, also, next, last, late} {
		r.order.BuyerID = "b"
	}
	pushed(t, q, first, late, also, next, last)
	cancel()
	if batch := q.pop(10); len(batch) != 1 || batch[0] != next {
		t.Fatalf("got %v", batch)
	}
	emptied(t, q)
	next.refuse(stock.SoldOutError("sku"))
	for r, want := range map[*request]stock.Code{
		first: stock.CodeUnavailable, late: stock.CodeOverloaded, also: stock.CodeUnavailable, next: stock.CodeSoldOut, last: stock.CodeSoldOut,
	} {
		if a := told(t, r); stock.CodeOf(a.Err) != want {
			t.Errorf("got %v, want %s", a.Err, want)
		}
	}
	pushed(t, q, ask(t.Context(), "a"))
}

func TestAllWhoJoinedMayHaveGone(t *testing.T) {
	q := newQueue()
	gone, cancel := context.WithCancel(t.Context())
	requests := []*request{ask(gone, "a"), ask(gone, "a"), ask(gone, "a")}
	pushed(t, q, requests...)
	cancel()
	if batch := q.pop(10); len(batch) != 0 {
		t.Fatalf("got %v", batch)
	}
	for _, r := range requests {
		if a := told(t, r); !errors.Is(a.Err, context.Canceled) {
			t.Errorf("told %v, want %v", a.Err, context.Canceled)
		}
	}
	emptied(t, q)
}

func TestNobodyFillsAQueueAlone(t *testing.T) {
	q := newQueue()
	of := func(buyer, id string) *request {
		r := ask(t.Context(), id)
		r.order.BuyerID = buyer
		return r
	}
	for i := range longQueue - mostOfBuyer/2 {
		pushed(t, q, of("buyer-"+strconv.Itoa(i), "of buyer-"+strconv.Itoa(i)))
	}
	for i := range mostOfBuyer / 2 { // before and after the queue is long
		pushed(t, q, of("greedy", strconv.Itoa(i)), of("greedy", strconv.Itoa(i)))
	}
	if _, err := q.push(of("greedy", "more"), queueLimit); stock.CodeOf(err) != stock.CodeOverloaded {
		t.Errorf("one buyer's request too many: %v, want %s", err, stock.CodeOverloaded)
	}
	pushed(t, q, of("modest", "of modest"))
	if want := longQueue + 1; q.length() != want {
		t.Errorf("%d wait, want %d", q.length(), want)
	}
	for q.length() > 0 {
		for _, r := range q.pop(10) {
			r.refuse(stock.SoldOutError("sku"))
		}
	}
	emptied(t, q)
	pushed(t, q, of("greedy", "more"))
}

func TestOneOrderIDIsAskedForSoOften(t *testing.T) {
	q := newQueue()
	for range mostJoined + 1 {
		pushed(t, q, ask(t.Context(), "same"))
	}
	if _, err := q.push(ask(t.Context(), "same"), queueLimit); stock.CodeOf(err) != stock.CodeOverloaded {
		t.Errorf("got %v", err)
	}
	pushed(t, q, ask(t.Context(), "another"))
	if q.length() != 2 {
		t.Errorf("%d wait, want 2", q.length())
	}
}

// Requests that have joined a refused one are refused with it.
func TestWhoIsTakenTakesThoseWhoJoinedAlong(t *testing.T) {
	q := newQueue()
	first, again := ask(t.Context(), "a"), ask(t.Context(), "a")
	pushed(t, q, first, ask(t.Context(), "b"), again)
	if crowd := q.drain(func(r *request) bool { return r.order.OrderID == "a" }); ids(crowd) != "a" {
		t.Fatalf("got %q", ids(crowd))
	}
	refuseAll([]*request{first}, stock.SoldOutError("sku"))
	told(t, again)
	if q.length() != 1 {
		t.Errorf("%d wait, want 1", q.length())
	}
}
