package events

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"inventory/internal/busytest"
	"inventory/internal/stock"
)

func TestEventsKeepTheOrderOfTheirProcess(t *testing.T) {
	t.Parallel()
	h := newHub(t, Config{})
	s := subscribe(t, h, "")
	const n = 1000
	for i := range n {
		h.Publish(sold(fmt.Sprint(i), 1))
	}
	all := listenUntil(t, s, func(all []Delivery) bool { return len(all) == n })
	for i, told := range all {
		if told.SKU != fmt.Sprint(i) || told.Number != uint64(i)+1 || told.Process != h.process {
			t.Fatalf("number %d is %+v", i, told)
		}
	}
}

// TestSalesBecomeOneEvent: but not across an event between them.
func TestSalesBecomeOneEvent(t *testing.T) {
	t.Parallel()
	p := newPending()
	for _, e := range []stock.Event{
		sold("a", 1), sold("b", 1), sold("a", 2),
		{Kind: stock.EventMerge, SKU: "a", Orders: 1, Units: 9},
		sold("a", 4),
		soldOut("a"), sold("b", 1), back("a"), sold("a", 8), sold("a", 16),
	} {
		p.add(e)
	}
	events, lost := p.takeEvents()
	got := make([]string, len(events))
	for i, e := range events {
		got[i] = fmt.Sprint(e.SKU, " ", e.Kind, " ", e.Orders, " ", e.Units)
	}
	want := "a sale 7 14, b sale 2 4, a merge 1 9, a sold_out 0 0, a back_in_stock 0 0, a sale 24 48"
	if strings.Join(got, ", ") != want || lost != 0 {
		t.Errorf("got  %s\nwant %s", strings.Join(got, ", "), want)
	}
}

func TestListenersOfOneSKUGetItsEvents(t *testing.T) {
	t.Parallel()
	h := newHub(t, Config{})
	a, b, all := subscribe(t, h, "a"), subscribe(t, h, "b"), subscribe(t, h, "")
	h.Publish(sold("a", 1))
	h.Publish(soldOut("b"))
	for s, want := range map[*Subscription][]string{a: {"a"}, b: {"b"}, all: {"a", "b"}} {
		for i, told := range listenUntil(t, s, func(all []Delivery) bool { return len(all) == len(want) }) {
			if told.SKU != want[i] {
				t.Errorf("a listener to %q was told %+v", s.sku, told)
			}
		}
	}
}

// TestSlowListenerLearnsHowManyEventsItHasLost reads nothing until more has come than its buffer holds; another listener reads.
func TestSlowListenerLearnsHowManyEventsItHasLost(t *testing.T) {
	t.Parallel()
	h := newHub(t, Config{})
	slow, quick := subscribe(t, h, ""), subscribe(t, h, "")
	const rounds = maxBuffered/1000 + 2
	for i := range rounds * 1000 {
		h.Publish(sold(fmt.Sprint(i), 1))
		if i%1000 == 999 { // as many as one batch holds
			if _, lost := count(listenUntil(t, quick, func(all []Delivery) bool { return len(all) == 1000 })); lost > 0 {
				t.Fatalf("%d were lost to a quick listener", lost)
			}
		}
	}
	all := slow.Take()
	told, lost := count(all)
	if last := all[len(all)-1]; told != maxBuffered || lost != rounds*1000-maxBuffered || last.Lost == 0 {
		t.Errorf("told %d, lost %d, at last %+v", told, lost, last)
	}
	if h.Lost() != uint64(lost) { //nolint:gosec // not below zero
		t.Errorf("the hub counts %d lost", h.Lost())
	}
	h.Publish(sold("next", 1))
	if next := listenUntil(t, slow, func(all []Delivery) bool { return len(all) > 0 }); next[0].SKU != "next" {
		t.Errorf("after the loss: %+v", next)
	}
}

func TestMoreThanABatchHoldsIsReportedAsLost(t *testing.T) {
	busytest.Virtual(t, func(t *testing.T) {
		h := NewHub(Config{})
		s, err := h.Subscribe(Caller{}, "")
		if err != nil {
			t.Fatal(err)
		}
		h.Publish(sold("first", 1))
		time.Sleep(batchEvery) // of the bubble's clock: the first batch is on its way
		synctest.Wait()
		for i := range maxPending + 10 {
			h.Publish(sold(fmt.Sprint(i), 1))
		}
		if err := h.Close(t.Context()); err != nil { // flushes
			t.Fatal(err)
		}
		if told, lost := count(s.Take()); told != maxPending+1 || lost != 10 {
			t.Errorf("told %d, lost %d", told, lost)
		}
	})
}

// TestSoldOutIsSentOnceForEachChange: a change is published once, by whichever process notices it.
func TestSoldOutIsSentOnceForEachChange(t *testing.T) {
	t.Parallel()
	h := newHub(t, Config{})
	number := map[string]uint64{"p": 1, "q": 1}
	from := func(process string, e stock.Event) {
		b := newBatch(process, number[process], []stock.Event{e}, 0)
		number[process] = b.Next
		h.deliver(b)
	}
	subscribe(t, h, "b")    // somebody listens: all is published
	from("p", soldOut("a")) // before there is a listener, which reads that
	s := subscribe(t, h, "a")
	from("p", soldOut("a"))
	from("q", soldOut("a"))
	from("q", sold("a", 1))
	from("p", soldOut("a"))
	from("q", back("a"))
	from("p", back("a"))
	from("p", soldOut("b"))
	from("p", soldOut("a"))
	number["q"] += 3 // lost, with unknown contents
	from("q", soldOut("a"))
	var got []string
	for _, told := range s.Take() {
		if told.Lost > 0 {
			got = append(got, fmt.Sprint("lost ", told.Lost))
			continue
		}
		got = append(got, string(told.Kind))
	}
	want := []string{"sale", "back_in_stock", "sold_out", "lost 3", "sold_out"}
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// TestOlderLookIsNotReported: looks of several processes come in any order. A state seen before the last change is no change,
// and a SKU of which nothing is known is back in stock only if it was sold out before.
func TestOlderLookIsNotReported(t *testing.T) {
	t.Parallel()
	h := newHub(t, Config{})
	s := subscribe(t, h, "a")
	number := uint64(1)
	seen := func(e stock.Event, layout, version int64) {
		e.Age = stock.Age{Layout: layout, Version: version}
		b := newBatch("p", number, []stock.Event{e}, 0)
		number = b.Next
		h.deliver(b)
	}
	seen(back("a"), 1, 1) // it was never empty
	seen(soldOut("a"), 1, 9)
	seen(back("a"), 1, 8) // a look from before that
	seen(back("a"), 2, 3) // in a new layout
	seen(soldOut("a"), 1, 20)
	seen(back("a"), 2, 4)
	var got []string
	for _, told := range s.Take() {
		got = append(got, string(told.Kind))
	}
	if want := []string{"sold_out", "back_in_stock"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// TestEarlierLookKeepsNothingBack: a buyer's process looks right after a restock, does not know that the SKU was empty, and is
// heard before the restock's own, older look. The listener's process knew nothing of the SKU.
func TestEarlierLookKeepsNothingBack(t *testing.T) {
	t.Parallel()
	h := newHub(t, Config{})
	s := subscribe(t, h, "a")
	from := func(process string, wasEmpty bool, version int64) {
		e := back("a")
		e.WasEmpty, e.Age = wasEmpty, stock.Age{Layout: 1, Version: version}
		h.deliver(newBatch(process, 1, []stock.Event{e}, 0))
	}
	from("buyers", false, 9)
	from("restocks", true, 8)
	from("another", true, 8)
	if told := s.Take(); len(told) != 1 || told[0].Kind != stock.EventBackInStock {
		t.Errorf("told %v, want one %s", told, stock.EventBackInStock)
	}
}

// TestEveryMissedEventIsReported: batches of several processes are lost, doubled, and followed by heartbeats, and each
// loss is counted.
func TestEveryMissedEventIsReported(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		h := NewHub(Config{})
		s, err := h.Subscribe(Caller{}, "")
		if err != nil {
			r.Fatal(err)
		}
		numbers := map[string]uint64{"p": 1, "q": 1}
		for process := range numbers {
			h.deliver(newBatch(process, 1, nil, 0)) // the first heartbeat
		}
		for range rapid.IntRange(0, 30).Draw(r, "batches") {
			process := rapid.SampledFrom([]string{"p", "q"}).Draw(r, "process")
			events := make([]stock.Event, rapid.IntRange(0, 5).Draw(r, "events"))
			for i := range events {
				events[i] = sold(process, 1)
			}
			b := newBatch(process, numbers[process], events, rapid.Uint64Range(0, 3).Draw(r, "lost"))
			numbers[process] = b.Next
			for range rapid.SampledFrom([]int{1, 1, 1, 0, 2}).Draw(r, "times received") {
				h.deliver(b)
			}
		}
		published := 0
		for process, next := range numbers {
			h.deliver(newBatch(process, next, nil, 0)) // the last heartbeat
			published += int(next) - 1                 //nolint:gosec // of tests
		}
		last := map[string]uint64{}
		all := s.Take()
		for _, told := range all {
			if told.Lost == 0 && told.Number <= last[told.Process] {
				r.Errorf("%s: %d came after %d", told.Process, told.Number, last[told.Process])
			}
			if told.Lost == 0 {
				last[told.Process] = told.Number
			}
		}
		if told, lost := count(all); told+lost != published {
			r.Errorf("published %d, told %d, lost %d", published, told, lost)
		}
		if err := h.Close(t.Context()); err != nil {
			r.Fatal(err)
		}
	})
}

func TestListenersAreBounded(t *testing.T) {
	t.Parallel()
	h := newHub(t, Config{Listeners: 2})
	first := subscribe(t, h, "")
	subscribe(t, h, "")
	wantCode := func(code stock.Code) {
		t.Helper()
		_, err := h.Subscribe(Caller{}, "")
		if e, ok := errors.AsType[*stock.Error](err); !ok || e.Code != code {
			t.Errorf("a third listener: %v, want %s", err, code)
		}
	}
	wantCode(stock.CodeOverloaded)
	first.Close()
	first.Close()
	third := subscribe(t, h, "")
	if n := h.Listeners(); n != 2 {
		t.Errorf("%d listeners", n)
	}
	h.Dismiss()
	<-third.Done()
	wantCode(stock.CodeUnavailable)
}

// TestProcessesAreForgotten: any program may write to the channel, under any number of names.
func TestProcessesAreForgotten(t *testing.T) {
	t.Parallel()
	h := newHub(t, Config{})
	for n := range 3 * mostProcesses {
		h.deliver(batch{Process: fmt.Sprint(n), First: 1, Next: 1})
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.positions) > mostProcesses {
		t.Errorf("%d processes are known", len(h.positions))
	}
}

// Buyers may be any number: a quarter of the places is for keys.
func TestBuyersLeavePlacesForKeys(t *testing.T) {
	t.Parallel()
	h := newHub(t, Config{Listeners: 8})
	for n := range 8 {
		s, err := h.Subscribe(Caller{ID: fmt.Sprint("buyer ", n), Buyer: true}, "")
		if (err == nil) != (n < 6) {
			t.Errorf("listener %d of buyers: %v, where 6 are let in", n+1, err)
		}
		if err == nil {
			t.Cleanup(s.Close)
		}
	}
	operator, err := h.Subscribe(Caller{ID: "key"}, "")
	if err != nil {
		t.Fatal("an operator is locked out:", err)
	}
	operator.Close()
}

func TestPublishAllocatesNothing(t *testing.T) {
	e := sold("a", 1)
	alone := newHub(t, Config{})
	relayed := newRelayed(t, server, t.Name())
	for name, h := range map[string]*Hub{"alone": alone, "relayed": relayed} {
		h.Publish(e)
		// The relay's own goroutines allocate too, a few times a second: on a busy machine that may be often.
		busytest.Soon(t, name+": an event is published without an allocation", func() bool {
			return testing.AllocsPerRun(10_000, func() { h.Publish(e) }) < 1
		})
	}
}

// BenchmarkPublish measures without listeners: a process alone, and one that sends to others.
func BenchmarkPublish(b *testing.B) {
	e := sold("a", 1)
	b.Run("alone", func(b *testing.B) {
		h := newHub(b, Config{})
		b.ReportAllocs()
		for b.Loop() {
			h.Publish(e)
		}
	})
	b.Run("pending", func(b *testing.B) {
		p := newPending()
		b.ReportAllocs()
		for b.Loop() {
			p.add(e)
		}
	})
}

// TestUnheardEventsAreNotKnown: without a listener a process that is alone publishes nothing. Events that an earlier listener has heard may
// hold no longer.
func TestUnheardEventsAreNotKnown(t *testing.T) {
	t.Parallel()
	h := newHub(t, Config{})
	heard := func(e stock.Event) {
		t.Helper()
		s := subscribe(t, h, "a")
		h.Publish(e)
		if told := listenUntil(t, s, func(all []Delivery) bool { return len(all) > 0 }); told[0].Kind != e.Kind {
			t.Errorf("got %+v, want %s", told, e.Kind)
		}
		s.Close()
	}
	heard(soldOut("a"))
	h.Publish(back("a")) // while nobody listens
	heard(soldOut("a"))
}
