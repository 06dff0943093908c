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

	"inventory/internal/stock"
	"inventory/internal/stock/postgres"
	"inventory/internal/stock/selling"
)

// meter counts the requests to a store. It counts confirmations of the cache separately, and can hold them up.
type meter struct {
	stock.Store
	asked   atomic.Int64
	deaf    bool          // receives no notification
	listens chan struct{} // gets one when it has begun to listen; nil: no test waits for that
	mu      sync.Mutex
	begun   time.Time // start of the last read whether the SKU has sold out
	held    bool
	looked  int
	after   func() // after a read, once
}

func (m *meter) Views(ctx context.Context, skus ...string) (map[string]stock.View, error) {
	if until, _ := ctx.Deadline(); time.Until(until) < 5*time.Second { // one in the background, for events, has twice as long
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

func (m *meter) Deductions(ctx context.Context, sku string, orderIDs []string) (map[string]stock.Deduction, error) {
	m.asked.Add(1)
	return m.Store.Deductions(ctx, sku, orderIDs)
}

func (m *meter) SoldOut(ctx context.Context, sku string, limit int, accepted func([]byte)) (stock.View, error) {
	m.mu.Lock()
	held, after := m.held, m.after
	m.after = nil
	if !held {
		m.begun = time.Now()
		m.looked++
	}
	m.mu.Unlock()
	if held {
		<-ctx.Done()
		return stock.View{}, ctx.Err()
	}
	empty, err := m.Store.SoldOut(ctx, sku, limit, accepted)
	if after != nil {
		after()
	}
	return empty, err
}

func (m *meter) Watch(ctx context.Context, listening func(), restocked func(string)) error {
	if m.deaf {
		return nil
	}
	heard := func() {
		listening()
		m.noteListening()
	}
	err := m.Store.Watch(ctx, heard, restocked)
	m.noteListening() // SQLite has nothing to listen to
	return err
}

func (m *meter) noteListening() {
	select {
	case m.listens <- struct{}{}:
	default:
	}
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
	for pace := time.Tick(time.Millisecond); !m.lose(t, s); <-pace {
	}
}

// another opens a store of another process on the world's PostgreSQL.
func (w *world) another() stock.Store {
	w.Helper()
	store, err := postgres.Open(w.Context(), w.url, 4)
	if err != nil {
		w.Fatal(err)
	}
	closeStore(w.T, store)
	return store
}

func (w *world) restock(s *selling.Service, ref string, units int64) {
	w.Helper()
	if _, err := s.Move(w.Context(), stock.Movement{Kind: stock.Restocked, SKU: sku, Ref: ref, Quantity: units}); err != nil {
		w.Fatal(err)
	}
}

// untilAccepted repeats an order until it is accepted, and returns how long that took.
func untilAccepted(t *testing.T, s *selling.Service, o stock.Order) time.Duration {
	t.Helper()
	start := time.Now()
	for pace := time.Tick(time.Millisecond); ; <-pace {
		_, _, err := s.Deduct(t.Context(), sku, o)
		took := time.Since(start)
		switch {
		case err == nil:
			return took
		case stock.CodeOf(err) != stock.CodeSoldOut:
			t.Fatal(err)
		case took > 5*time.Second:
			t.Fatalf("still sold out after %v", took)
		}
	}
}

func TestLosersCostNoStatement(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		store, seen := &meter{Store: w.store, listens: make(chan struct{}, 1)}, &counts{}
		s := w.startOn(store, seen.note)
		<-store.listens // which forgets what is remembered
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

// empty is a store of a SKU that is sold out, whose answers take a while.
type empty struct{ endless }

func (empty) Watch(ctx context.Context, listening func(), _ func(sku string)) error {
	listening()
	<-ctx.Done()
	return nil
}

func (empty) Views(context.Context, ...string) (map[string]stock.View, error) {
	time.Sleep(10 * time.Millisecond)
	return map[string]stock.View{sku: {Layout: 1, Segments: []int64{0, 0, 0}}}, nil
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

func (empty) SoldOut(context.Context, string, int, func([]byte)) (stock.View, error) {
	time.Sleep(10 * time.Millisecond)
	return stock.View{Versions: []int64{1, 1, 1}}, nil
}

// TestSoldOutIsConfirmedWhileAsked: while buyers come, two small statements a second are enough. It runs in virtual
// time, in which a busy machine cannot be late.
func TestSoldOutIsConfirmedWhileAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &meter{Store: empty{}}
		s := selling.NewService(selling.Config{Store: store})
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
		if err := s.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// TestSoldOutNeverOutlivesASecond holds up the confirmations: refusals from memory end a second after the last one.
func TestSoldOutNeverOutlivesASecond(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		store := &meter{Store: w.store}
		s := w.startOn(store, nil)
		w.create(s, 0, 3)
		store.remembered(t, s)
		last := store.hold()
		for pace := time.Tick(time.Millisecond); ; <-pace {
			asking := time.Since(last)
			if !store.lose(t, s) {
				return
			}
			if asking >= time.Second {
				t.Fatalf("refused from memory %v after the last look", asking)
			}
		}
	})
}

func TestRestockInAnotherProcessEndsSoldOut(t *testing.T) {
	t.Parallel()
	w := real(t)
	store, seen := &meter{Store: w.store}, newNotificationObserver()
	here, there := w.startOn(store, seen.note), w.startOn(w.another(), nil)
	w.create(here, 0, 3)
	w.checkNotifications("at first", store, here, there)
	conn, err := pgx.Connect(t.Context(), w.url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	if _, err := conn.Exec(t.Context(), `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
		WHERE datname = current_database() AND application_name = 'inventory notices'`); err != nil {
		t.Fatal(err)
	}
	// The notification of this one may be lost.
	w.restock(there, "unheard", 1)
	if took := untilAccepted(t, here, stock.Order{OrderID: "unheard", Quantity: 1}); took > 1500*time.Millisecond {
		t.Errorf("without notifications accepted %v after the restock", took)
	}
	if failing := <-seen.failing; !failing {
		t.Error("notifications worked again before they failed")
	}
	if failing := <-seen.failing; failing {
		t.Error("notifications failed twice")
	}
	w.checkNotifications("after the connection broke", store, here, there)
}

// checkNotifications measures how soon one process sells the units that another has added.
func (w *world) checkNotifications(when string, store *meter, here, there *selling.Service) {
	w.Helper()
	var took []time.Duration
	for round := range 9 {
		store.remembered(w.T, here)
		id := fmt.Sprint(when, round)
		w.restock(there, id, 1)
		took = append(took, untilAccepted(w.T, here, stock.Order{OrderID: id, Quantity: 1}))
	}
	slices.Sort(took)
	w.Logf("%s: accepted after the restock: median %v, longest %v", when, took[len(took)/2], took[len(took)-1])
	if took[len(took)/2] > 100*time.Millisecond {
		w.Errorf("%s: %v after the restock", when, took)
	}
}

// notificationObserver is an observer of notifications.
type notificationObserver struct {
	failing chan bool // what has changed
	last    bool
}

func newNotificationObserver() *notificationObserver {
	return &notificationObserver{failing: make(chan bool, 9)}
}

// note gets what becomes of notifications from one goroutine.
func (h *notificationObserver) note(a selling.Activity) {
	if a.Kind != selling.NotificationsFailed {
		return
	}
	if failing := a.Err != nil; failing != h.last {
		h.last = failing
		h.failing <- failing
	}
}

// TestUnheardRestock: without any notification, units and accepted orders of another process are visible after a
// second. The unit is sold before this process reads, so only the versions show that something has happened.
func TestUnheardRestock(t *testing.T) {
	t.Parallel()
	w := real(t)
	store := &meter{Store: w.store, deaf: true}
	here, there := w.startOn(store, nil), w.startOn(w.another(), nil)
	w.create(here, 0, 3)
	for round := range 3 {
		store.remembered(t, here)
		id := fmt.Sprint(round)
		w.restock(there, id, 1)
		w.deduct(there, id, 1)
		if took := untilAccepted(t, here, stock.Order{OrderID: id, Quantity: 1}); took > 1500*time.Millisecond {
			t.Errorf("a winner of another process was unknown for %v", took)
		}
	}
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
		store := &meter{Store: w.store, deaf: true}
		s := w.startOn(store, nil)
		w.create(s, 0, 3)
		store.remembered(t, s)
		seen, proceed := make(chan struct{}), make(chan struct{})
		store.afterLook(func() { close(seen); <-proceed })
		for pace, looking := time.Tick(time.Millisecond), true; looking; <-pace {
			store.lose(t, s)
			select {
			case <-seen:
				looking = false
			default:
			}
		}
		// By another process.
		if _, err := w.store.Move(t.Context(), stock.Movement{Kind: stock.Restocked, SKU: sku, Ref: "r", Quantity: 1}); err != nil {
			t.Fatal(err)
		}
		winner := stock.Order{OrderID: "winner", Quantity: 1}
		untilAccepted(t, s, winner)
		close(proceed)
		for n, pace := 0, time.Tick(time.Millisecond); n < 100; n++ {
			if _, _, err := s.Deduct(t.Context(), sku, winner); err != nil {
				t.Fatalf("retry %d: %v", n, err)
			}
			<-pace
		}
	})
}

// TestACancelThatWasCarriedOutElsewhere ends what this process remembers, as its own does: the next order of its caller finds the
// units, also before the notification of the other process comes.
func TestACancelThatWasCarriedOutElsewhere(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		reserve, cancel func(w *world, s *selling.Service) error
	}{
		"deduction": {
			func(w *world, s *selling.Service) error {
				_, _, err := s.Deduct(w.Context(), sku, stock.Order{OrderID: "o", Quantity: 1, ReserveFor: time.Hour})
				return err
			},
			func(w *world, s *selling.Service) error {
				_, err := s.Settle(w.Context(), sku, stock.SettleRequest{Verb: stock.Cancel, OrderID: "o"}, false)
				return err
			},
		},
		"whole order": {
			func(w *world, s *selling.Service) error {
				order := stock.MultiOrder{OrderID: "o", ReserveFor: time.Hour, Lines: []stock.Line{{SKU: sku, Quantity: 1}}}
				_, _, err := s.Order(w.Context(), order)
				return err
			},
			func(w *world, s *selling.Service) error {
				_, err := s.SettleOrder(w.Context(), stock.SettleRequest{Verb: stock.Cancel, OrderID: "o"}, false)
				return err
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := embedded(t)
			other, store := w.start(nil), &meter{Store: w.store, deaf: true}
			s := w.startOn(store, nil)
			w.create(other, 1, 1)
			if err := c.reserve(w, other); err != nil {
				t.Fatal(err)
			}
			store.remembered(t, s)
			if err := errors.Join(c.cancel(w, other), c.cancel(w, s)); err != nil {
				t.Fatal(err)
			}
			w.mustTake(s, stock.Order{OrderID: "next", Quantity: 1})
		})
	}
}
