package selling_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jackc/pgx/v5"

	"inventory/internal/busytest"
	"inventory/internal/stock"
	"inventory/internal/stock/selling"
)

// meter counts the requests to a store. It counts confirmations of the cache separately, and can hold them up.
type meter struct {
	stock.Store
	asked  atomic.Int64
	heard  chan struct{} // gets one when a restock was heard of
	mu     sync.Mutex
	begun  time.Time // start of the last read whether the SKU has sold out
	held   bool
	looked int
	after  func() // after a read, once
}

func (m *meter) Views(ctx context.Context, skus ...string) (map[string]stock.View, error) {
	if until, _ := ctx.Deadline(); time.Until(until) != 10*time.Second { // as those in the background have, for events
		m.asked.Add(1)
	}
	return m.Store.Views(ctx, skus...)
}

func (m *meter) Deduct(ctx context.Context, batch stock.Batch) (stock.BatchResult, error) {
	m.asked.Add(1)
	return m.Store.Deduct(ctx, batch)
}

func (m *meter) Merge(ctx context.Context, merge stock.Batch) (stock.BatchResult, error) {
	m.asked.Add(1)
	return m.Store.Merge(ctx, merge)
}

func (m *meter) Order(ctx context.Context, p stock.Placement) ([]stock.Deduction, bool, error) {
	m.asked.Add(1)
	return m.Store.Order(ctx, p)
}

func (m *meter) PlacedOrder(ctx context.Context, orderID string) (*stock.PlacedOrder, error) {
	m.asked.Add(1)
	return m.Store.PlacedOrder(ctx, orderID)
}

func (m *meter) Deductions(ctx context.Context, sku string, orderIDs []string) (map[string]stock.Deduction, error) {
	m.asked.Add(1)
	return m.Store.Deductions(ctx, sku, orderIDs)
}

func (m *meter) SoldOut(ctx context.Context, skus []string, limit int, accepted func(_, _ []byte)) (map[string]stock.View, error) {
	after, err := m.look(ctx)
	if err != nil {
		return nil, err
	}
	defer after()
	return m.Store.SoldOut(ctx, skus, limit, accepted)
}

func (m *meter) Ages(ctx context.Context, skus ...string) (map[string]stock.Age, error) {
	after, err := m.look(ctx)
	if err != nil {
		return nil, err
	}
	defer after()
	return m.Store.Ages(ctx, skus...)
}

// look counts a read, or holds it up. after is to be called when it has its result.
func (m *meter) look(ctx context.Context) (after func(), err error) {
	m.mu.Lock()
	held := m.held
	after, m.after = m.after, nil
	if !held {
		m.begun = time.Now()
		m.looked++
	}
	m.mu.Unlock()
	if held {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	if after == nil {
		after = func() {}
	}
	return after, nil
}

func (m *meter) Watch(ctx context.Context, listening func(), restocked func(string)) error {
	return m.Store.Watch(ctx, listening, func(sku string) {
		restocked(sku)
		select {
		case m.heard <- struct{}{}:
		default:
		}
	})
}

// hold holds up all reads from now on, and returns when the last earlier one began.
func (m *meter) hold() time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.held = true
	return m.begun
}

// afterLook calls f when the next read has its result and has not returned it yet.
func (m *meter) afterLook(f func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.after = f
}

func (m *meter) looks() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.looked
}

// lose sends an order that must be refused, and reports whether that took no statement.
func (m *meter) lose(t *testing.T, s *selling.Service) (fromMemory bool) {
	t.Helper()
	before := m.asked.Load()
	_, _, err := s.Deduct(t.Context(), sku, stock.Order{OrderID: "loser", Quantity: 1})
	if stock.CodeOf(err) != stock.CodeSoldOut {
		t.Fatalf("a loser was told %v, want %s", err, stock.CodeSoldOut)
	}
	return m.asked.Load() == before
}

// remembered sends such orders until the refusals come from memory.
func (m *meter) remembered(t *testing.T, s *selling.Service) {
	t.Helper()
	busytest.Soon(t, "a refusal comes from memory", func() bool { return m.lose(t, s) })
}

func (w *world) restock(s *selling.Service, ref string, units int64) {
	w.t.Helper()
	err := patiently(w.t, func() error {
		_, err := s.Move(w.t.Context(), stock.Movement{Kind: stock.Restocked, SKU: sku, Ref: ref, Quantity: units})
		return err
	})
	if err != nil {
		w.t.Fatal(err)
	}
}

// untilAccepted repeats an order until it is accepted.
func (w *world) untilAccepted(s *selling.Service, o stock.Order) {
	w.t.Helper()
	busytest.Soon(w.t, "an order is accepted", func() bool {
		_, err := w.ask(s, o)
		if err != nil && stock.CodeOf(err) != stock.CodeSoldOut {
			w.t.Fatal(err)
		}
		return err == nil
	})
}

func TestLosersCostNoStatement(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		store, seen := &meter{Store: w.store}, &counts{}
		s := w.startOn(store, seen.note)
		synctest.Wait() // it listens, which forgets what is remembered
		w.create(s, 9, 3)
		winners := make(map[string]stock.Deduction)
		for n := range 9 {
			id := fmt.Sprint("winner-", n)
			winners[id] = w.deduct(s, id, 1)
		}
		store.remembered(t, s)
		asked, counted := store.asked.Load(), seen.fromMemory.Load()
		var wg sync.WaitGroup
		for n := range 200 {
			wg.Go(func() {
				_, _, err := s.Deduct(t.Context(), sku, stock.Order{OrderID: fmt.Sprint("loser-", n), Quantity: 1})
				if stock.CodeOf(err) != stock.CodeSoldOut {
					t.Errorf("loser %d: %v, want %s", n, err, stock.CodeSoldOut)
				}
			})
		}
		wg.Wait()
		if got := store.asked.Load() - asked; got != 0 {
			t.Errorf("200 losers cost %d statements, want 0", got)
		}
		if got := seen.fromMemory.Load() - counted; got != 200 {
			t.Errorf("counted %d refusals from memory, want 200", got)
		}
		for id, d := range winners {
			again, created, err := s.Deduct(t.Context(), sku, stock.Order{OrderID: id, Quantity: 1})
			if err != nil || created || fmt.Sprint(again) != fmt.Sprint(d) {
				t.Errorf("%s again: %+v, %v, %v; want %+v", id, again, created, err, d)
			}
			_, _, err = s.Deduct(t.Context(), sku, stock.Order{OrderID: id, Quantity: 2})
			if stock.CodeOf(err) != stock.CodeOrderIDReused {
				t.Errorf("%s with another quantity: %v, want %s", id, err, stock.CodeOrderIDReused)
			}
		}
	})
}

// TestABasketOfASoldOutSKUCostsNoStatement: an order of several SKUs of which one has sold out is refused from memory, also where only
// such orders ask for it. An order that was accepted is still a replay.
func TestABasketOfASoldOutSKUCostsNoStatement(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		store, seen := &meter{Store: w.store}, &counts{}
		s := w.startOn(store, seen.note)
		synctest.Wait() // it listens, which forgets what is remembered
		w.create(s, 1, 3)
		if _, _, err := s.CreateSKU(t.Context(), stock.NewSKU{SKU: "plenty", Stock: 100, Segments: 3}); err != nil {
			t.Fatal(err)
		}
		asks := func(id string) (created bool, err error) {
			_, created, err = s.Order(t.Context(), stock.MultiOrder{OrderID: id, BuyerID: "b", Lines: []stock.Line{{SKU: "plenty", Quantity: 1}, {SKU: sku, Quantity: 1}}})
			return created, err
		}
		if created, err := asks("winner"); err != nil || !created {
			t.Fatalf("the first order: %v, %v", created, err)
		}
		counted := seen.fromMemory.Load()
		for n := 0; seen.fromMemory.Load() == counted; n++ {
			if _, err := asks(fmt.Sprint("before-", n)); stock.CodeOf(err) != stock.CodeSoldOut {
				t.Fatalf("a loser: %v, want %s", err, stock.CodeSoldOut)
			}
			time.Sleep(10 * time.Millisecond)
			if n > 1000 {
				t.Fatal("it is not remembered")
			}
		}
		asked := store.asked.Load()
		for n := range 100 {
			var e *stock.Error
			if _, err := asks(fmt.Sprint("loser-", n)); !errors.As(err, &e) || e.Code != stock.CodeSoldOut || e.SKU != sku {
				t.Errorf("loser %d: %v, want %s of %s", n, err, stock.CodeSoldOut, sku)
			}
		}
		if got := store.asked.Load() - asked; got != 0 {
			t.Errorf("100 losers cost %d statements, want 0", got)
		}
		if created, err := asks("winner"); created || err != nil {
			t.Errorf("the winner again: %v, %v", created, err)
		}
	})
}

// TestOneStatementConfirmsAllThatSoldOut: that 50 SKUs have sold out costs as many looks as that one has.
func TestOneStatementConfirmsAllThatSoldOut(t *testing.T) {
	busytest.Virtual(t, func(t *testing.T) {
		store := &meter{Store: empty{}}
		s := serve(t, selling.Config{Store: store})
		lose := func(n int) {
			_, _, err := s.Deduct(t.Context(), fmt.Sprint("sku-", n), stock.Order{OrderID: "loser", Quantity: 1})
			if stock.CodeOf(err) != stock.CodeSoldOut {
				t.Fatalf("a loser was told %v, want %s", err, stock.CodeSoldOut)
			}
		}
		for n := range 50 {
			lose(n)
		}
		time.Sleep(time.Second) // each was loaded
		asked, looked := store.asked.Load(), store.looks()
		for range 100 {
			for n := range 50 {
				lose(n)
			}
			time.Sleep(100 * time.Millisecond)
		}
		if got := store.asked.Load() - asked; got != 0 {
			t.Errorf("refusals cost %d statements in 10 s, want 0", got)
		}
		if got := store.looks() - looked; got < 19 || got > 21 {
			t.Errorf("looked %d times in 10 s, want 20", got)
		}
	})
}

// empty is a store of SKUs that are sold out, whose answers take a while.
type empty struct{ endless }

func (empty) Watch(ctx context.Context, listening func(), _ func(sku string)) error {
	listening()
	<-ctx.Done()
	return nil
}

func (empty) Views(_ context.Context, skus ...string) (map[string]stock.View, error) {
	time.Sleep(10 * time.Millisecond)
	views := make(map[string]stock.View)
	for _, sku := range skus {
		views[sku] = stock.View{Layout: 1, Segments: []int64{0, 0, 0}}
	}
	return views, nil
}

func (empty) Merge(_ context.Context, m stock.Batch) (stock.BatchResult, error) {
	time.Sleep(10 * time.Millisecond)
	outcomes := slices.Repeat([]stock.Outcome{{Kind: stock.Short}}, len(m.Orders))
	return stock.BatchResult{Outcomes: outcomes, Segments: []int64{0, 0, 0}}, nil
}

func (empty) Deductions(context.Context, string, []string) (map[string]stock.Deduction, error) {
	time.Sleep(10 * time.Millisecond)
	return map[string]stock.Deduction{}, nil
}

func (empty) SoldOut(_ context.Context, skus []string, _ int, _ func(_, _ []byte)) (map[string]stock.View, error) {
	time.Sleep(10 * time.Millisecond)
	views := make(map[string]stock.View)
	for _, sku := range skus {
		views[sku] = stock.View{Layout: 1, Versions: []int64{1, 1, 1}}
	}
	return views, nil
}

func (empty) Ages(_ context.Context, skus ...string) (map[string]stock.Age, error) {
	time.Sleep(10 * time.Millisecond)
	ages := make(map[string]stock.Age)
	for _, sku := range skus {
		ages[sku] = stock.Age{Layout: 1, Version: 1 + 1 + 1}
	}
	return ages, nil
}

// TestSoldOutIsConfirmedWhileAsked: while buyers come, two small statements a second are enough. It runs in virtual
// time, in which a busy machine cannot be late.
func TestSoldOutIsConfirmedWhileAsked(t *testing.T) {
	busytest.Virtual(t, func(t *testing.T) {
		store := &meter{Store: empty{}}
		s := serve(t, selling.Config{Store: store})
		store.remembered(t, s)
		start, before := time.Now(), store.looks()
		for time.Since(start) < 4*time.Second {
			if !store.lose(t, s) {
				t.Errorf("a refusal asked the rows after %v", time.Since(start))
			}
			time.Sleep(time.Millisecond)
		}
		if looks := store.looks() - before; looks < 4 || looks > 9 {
			t.Errorf("looked %d times in 4 s", looks)
		}
	})
}

// TestManySKUsAreKnownSoon: thousands of SKUs that sell out together are read together, in a virtual second. Each read takes 10 ms.
func TestManySKUsAreKnownSoon(t *testing.T) {
	busytest.Virtual(t, func(t *testing.T) {
		const skus = 2000
		store := &meter{Store: empty{}}
		s := serve(t, selling.Config{Store: store})
		buy := func() {
			var buyers sync.WaitGroup
			for n := range skus {
				buyers.Go(func() {
					order := stock.Order{OrderID: "o", Quantity: 1}
					if _, _, err := s.Deduct(t.Context(), fmt.Sprint("sku-", n), order); stock.CodeOf(err) != stock.CodeSoldOut {
						t.Errorf("got %v, want that it is sold out", err)
					}
				})
			}
			buyers.Wait()
		}
		buy()
		start := time.Now()
		for known := false; !known; {
			if time.Since(start) > time.Second {
				t.Fatal("refusals still ask the rows")
			}
			time.Sleep(100 * time.Millisecond)
			before := store.asked.Load()
			buy()
			known = store.asked.Load() == before
		}
	})
}

// TestSoldOutNeverOutlivesASecond holds up the confirmations: refusals from memory end a second of virtual time after the last one.
func TestSoldOutNeverOutlivesASecond(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		store := &meter{Store: w.store}
		s := w.startOn(store, nil)
		w.create(s, 0, 3)
		store.remembered(t, s)
		last := store.hold()
		for store.lose(t, s) {
			if old := time.Since(last); old >= time.Second {
				t.Fatalf("refused from memory %v after the last look", old)
			}
			time.Sleep(time.Millisecond)
		}
	})
}

// TestRestockInAnotherProcessEndsSoldOut: once its notification has come, the next order is sold.
func TestRestockInAnotherProcessEndsSoldOut(t *testing.T) {
	t.Parallel()
	w := real(t)
	store, failing := &meter{Store: w.store, heard: make(chan struct{}, 1)}, make(chan bool, 1000)
	here := w.startOn(store, func(a selling.Activity) {
		if a.Kind == selling.NotificationsFailed {
			failing <- a.Err != nil
		}
	})
	there := w.startOn(w.another(), nil)
	w.create(here, 0, 3)
	listens := func(when string) {
		t.Helper()
		for busytest.Receive(t, when+" it listens", failing) {
		}
	}
	heardOf := func(when string) {
		t.Helper()
		store.remembered(t, here)
		for len(store.heard) > 0 {
			<-store.heard
		}
		units := int64(0)
		busytest.Soon(t, when+" a restock is heard of", func() bool { // one may be lost with its connection
			units++
			w.restock(there, fmt.Sprint(when, units), 1)
			select {
			case <-store.heard:
				return true
			default:
				return false
			}
		})
		w.mustTake(here, stock.Order{OrderID: when, Quantity: units})
	}
	listens("at first")
	heardOf("at first")
	conn, err := pgx.Connect(t.Context(), w.url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	if _, err := conn.Exec(t.Context(), `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
		WHERE datname = current_database() AND application_name = 'inventory notices'`); err != nil {
		t.Fatal(err)
	}
	w.restock(there, "unheard", 1) // the notification of this one may be lost
	w.untilAccepted(here, stock.Order{OrderID: "unheard", Quantity: 1})
	for !busytest.Receive(t, "notifications fail", failing) {
	}
	listens("afterwards")
	heardOf("afterwards")
}

// TestUnheardRestock: without any notification, units and accepted orders of another process are visible after a
// second of virtual time. The unit is sold before this process reads, so only the versions show that something has happened.
func TestUnheardRestock(t *testing.T) {
	t.Parallel()
	virtually(t, silent, func(t *testing.T, w *world) {
		store := &meter{Store: w.store}
		here, there := w.startOn(store, nil), w.startOn(w.another(), nil)
		w.create(here, 0, 3)
		for round := range 3 {
			store.remembered(t, here)
			id := fmt.Sprint(round)
			w.restock(there, id, 1)
			w.deduct(there, id, 1)
			start := time.Now()
			w.untilAccepted(here, stock.Order{OrderID: id, Quantity: 1})
			if took := time.Since(start); took > time.Second+20*time.Millisecond { // the rest is the pace of Soon
				t.Errorf("a winner of another process was unknown for %v", took)
			}
		}
	})
}

// TestRestockForgetsAtOnce: in the process that restocks, no refusal comes after the restock.
func TestRestockForgetsAtOnce(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		store := &meter{Store: w.store}
		s := w.startOn(store, nil)
		w.create(s, 0, 3)
		for round := range 5 {
			store.remembered(t, s)
			w.restock(s, fmt.Sprint(round), 2)
			w.deduct(s, fmt.Sprint(round), 2)
			w.deduct(s, fmt.Sprint(round), 2) // again, while it is sold out again
		}
	})
}

// TestLookFromBeforeASale: a slow read does not make an order that was accepted meanwhile look refused.
func TestLookFromBeforeASale(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		store := &meter{Store: w.store}
		s := w.startOn(store, nil)
		w.create(s, 0, 3)
		store.remembered(t, s)
		seen, proceed := make(chan struct{}), make(chan struct{})
		store.afterLook(func() { close(seen); <-proceed })
		busytest.Soon(t, "a look", func() bool {
			store.lose(t, s)
			select {
			case <-seen:
				return true
			default:
				return false
			}
		})
		// By another process.
		if _, err := w.store.Move(t.Context(), stock.Movement{Kind: stock.Restocked, SKU: sku, Ref: "r", Quantity: 1}); err != nil {
			t.Fatal(err)
		}
		winner := stock.Order{OrderID: "winner", Quantity: 1}
		w.untilAccepted(s, winner)
		close(proceed)
		for range 100 {
			w.mustTake(s, winner)
			time.Sleep(time.Millisecond)
		}
	})
}

// TestACancelThatWasCarriedOutElsewhere ends what this process remembers, as its own does: the next order of its caller finds the
// units, also before the notification of the other process comes.
func TestACancelThatWasCarriedOutElsewhere(t *testing.T) {
	t.Parallel()
	cancel := stock.SettleRequest{Verb: stock.Cancel, OrderID: "o"}
	for name, c := range map[string]struct {
		reserve, cancel func(ctx context.Context, s *selling.Service) error
	}{
		"deduction": {
			func(ctx context.Context, s *selling.Service) error {
				_, _, err := s.Deduct(ctx, sku, stock.Order{OrderID: "o", Quantity: 1, ReserveFor: time.Hour})
				return err
			},
			func(ctx context.Context, s *selling.Service) error {
				_, err := s.Settle(ctx, sku, cancel, false)
				return err
			},
		},
		"whole order": {
			func(ctx context.Context, s *selling.Service) error {
				order := stock.MultiOrder{OrderID: "o", ReserveFor: time.Hour, Lines: []stock.Line{{SKU: sku, Quantity: 1}}}
				_, _, err := s.Order(ctx, order)
				return err
			},
			func(ctx context.Context, s *selling.Service) error {
				_, err := s.SettleOrder(ctx, cancel, false)
				return err
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			virtually(t, embedded, func(t *testing.T, w *world) {
				other, store := w.start(nil), &meter{Store: w.store}
				s := w.startOn(store, nil)
				w.create(other, 1, 1)
				if err := c.reserve(t.Context(), other); err != nil {
					t.Fatal(err)
				}
				store.remembered(t, s)
				if err := errors.Join(c.cancel(t.Context(), other), c.cancel(t.Context(), s)); err != nil {
					t.Fatal(err)
				}
				w.mustTake(s, stock.Order{OrderID: "next", Quantity: 1})
			})
		})
	}
}
