package selling

import (
	"context"
	"errors"
	"strconv"
	"testing"
	"time"

	"inventory/internal/stock"
)

func ask(ctx context.Context, id string) *request {
	now := time.Now()
	return &request{
		ctx: ctx, order: stock.Order{OrderID: id, Quantity: 1}, queued: now, deadline: now.Add(time.Hour), answered: make(chan struct{}),
	}
}

func ids(batch []*request) (list string) {
	for _, r := range batch {
		list += r.order.OrderID
	}
	return list
}

func TestQueueHandsOutBatchesInOrder(t *testing.T) {
	q := newQueue()
	for _, id := range []string{"a", "b", "c", "d", "e"} {
		if _, err := q.push(ask(t.Context(), id), 10); err != nil {
			t.Fatal(err)
		}
	}
	for i, want := range []string{"abc", "de", ""} {
		if got := ids(q.pop(3)); got != want {
			t.Errorf("batch %d: got %q, want %q", i, got, want)
		}
	}
}

// TestABatchHasEachOrderIDOnce: a repeated order waits for the next batch, in which it is found as known.
func TestABatchHasEachOrderIDOnce(t *testing.T) {
	q := newQueue()
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	for _, r := range []*request{ask(gone, "a"), ask(t.Context(), "a"), ask(t.Context(), "a"), ask(t.Context(), "b"), ask(t.Context(), "a")} {
		if _, err := q.push(r, 10); err != nil {
			t.Fatal(err)
		}
	}
	for i, want := range []string{"ab", "a", "a", ""} {
		if got := ids(q.pop(10)); got != want {
			t.Errorf("batch %d: got %q, want %q", i, got, want)
		}
	}
	if len(q.buyers) > 0 {
		t.Errorf("an empty queue counts %v, want nothing", q.buyers)
	}
}

// TestNobodyFillsAQueueAlone: neither with orders of one buyer, nor with one order of nobody in particular.
func TestNobodyFillsAQueueAlone(t *testing.T) {
	q := newQueue()
	push := func(id, buyer string) error {
		r := ask(t.Context(), id)
		r.order.BuyerID = buyer
		_, err := q.push(r, queueLimit)
		return err
	}
	pushed := func(id, buyer string) {
		t.Helper()
		if err := push(id, buyer); err != nil {
			t.Fatal(err)
		}
	}
	for i := range longQueue {
		pushed(strconv.Itoa(i), "buyer-"+strconv.Itoa(i))
	}
	for i := range mostOfBuyer {
		pushed("of greedy "+strconv.Itoa(i), "greedy")
		pushed("same", "")
	}
	for id, buyer := range map[string]string{"more": "greedy", "same": ""} {
		if err := push(id, buyer); stock.CodeOf(err) != stock.CodeOverloaded {
			t.Errorf("order %s of buyer %q: got %v, want %s", id, buyer, err, stock.CodeOverloaded)
		}
	}
	pushed("of modest", "modest")
	for q.length() > 0 {
		q.pop(queueLimit)
	}
	if len(q.buyers) > 0 {
		t.Errorf("an empty queue counts %v, want nothing", q.buyers)
	}
	pushed("more", "greedy")
}

func TestQueueDoesNotStartWhatNobodyWaitsFor(t *testing.T) {
	q := newQueue()
	gone, cancel := context.WithCancel(t.Context())
	r := ask(gone, "a")
	for _, r := range []*request{r, ask(t.Context(), "b")} {
		if _, err := q.push(r, 10); err != nil {
			t.Fatal(err)
		}
	}
	cancel()
	if got := ids(q.pop(10)); got != "b" {
		t.Fatalf("got %q, want b", got)
	}
	if <-r.answered; !errors.Is(r.result.Err, context.Canceled) || stock.CodeOf(r.result.Err) != stock.CodeUnavailable {
		t.Fatalf("the caller was told %v", r.result.Err)
	}
}

func TestQueueDoesNotStartWhatHasWaitedTooLong(t *testing.T) {
	q := newQueue()
	r := ask(t.Context(), "a")
	r.deadline = time.Now().Add(-time.Second)
	for _, r := range []*request{r, ask(t.Context(), "b")} {
		if _, err := q.push(r, 10); err != nil {
			t.Fatal(err)
		}
	}
	if got := ids(q.pop(10)); got != "b" {
		t.Fatalf("got %q, want b", got)
	}
	if <-r.answered; stock.CodeOf(r.result.Err) != stock.CodeOverloaded {
		t.Fatalf("the caller was told %v, want %s", r.result.Err, stock.CodeOverloaded)
	}
}

func TestQueueIsBounded(t *testing.T) {
	q := newQueue()
	for _, id := range []string{"a", "b"} {
		if _, err := q.push(ask(t.Context(), id), 2); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := q.push(ask(t.Context(), "c"), 2); stock.CodeOf(err) != stock.CodeOverloaded {
		t.Fatalf("got %v, want %s", err, stock.CodeOverloaded)
	}
}

// TestAFullQueueRefusesWithoutWaiting: under overload nearly all callers are refused, and must not delay those that are
// let in.
func TestAFullQueueRefusesWithoutWaiting(t *testing.T) {
	q := newQueue()
	if _, err := q.push(ask(t.Context(), "a"), 1); err != nil {
		t.Fatal(err)
	}
	q.mu.Lock() // as other callers do
	_, err := q.push(ask(t.Context(), "b"), 1)
	q.mu.Unlock()
	if stock.CodeOf(err) != stock.CodeOverloaded {
		t.Fatalf("got %v, want %s", err, stock.CodeOverloaded)
	}
	if q.pop(1); q.length() != 0 {
		t.Fatalf("%d wait in an empty queue, want 0", q.length())
	}
	if _, err := q.push(ask(t.Context(), "b"), 1); err != nil {
		t.Fatal(err)
	}
}

func TestLongQueuesAreWrittenInLargerBatches(t *testing.T) {
	for waiting, want := range map[int]int{0: batchLimit, 512: batchLimit, queueLimit: queueLimit / batchParts} {
		if got := batchSize(waiting); got != want {
			t.Errorf("of %d waiting: %d instead of %d, want %v", waiting, got, want, want)
		}
	}
}

func TestQueueIsIdleOnlyWhenNobodyServesIt(t *testing.T) {
	q := newQueue()
	if serve, err := q.push(ask(t.Context(), "a"), 2); err != nil || !serve {
		t.Fatalf("the first is to serve: %t, %v, want true", serve, err)
	}
	if serve, err := q.push(ask(t.Context(), "b"), 2); err != nil || serve {
		t.Fatalf("the second is to serve as well: %t, %v", serve, err)
	}
	if q.pop(1); q.leave() || q.idle(0) {
		t.Fatal("left or idle with a request in it")
	}
	if q.pop(1); q.idle(0) {
		t.Fatal("idle while it was served")
	}
	if !q.leave() || q.idle(time.Hour) || !q.idle(0) {
		t.Fatal("not idle after its time, or before")
	}
}

// idle is a store that sends no notifications.
type idle struct{ stock.Store }

func (idle) Watch(ctx context.Context, _ func(), _ func(sku string)) error {
	<-ctx.Done()
	return nil
}
