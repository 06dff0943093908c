package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"inventory/internal/busytest"
	"inventory/internal/stock"
	"inventory/internal/stock/postgres"
)

// listensTo listens to the notifications of a store, and returns the SKUs that it hears of, and how to end that.
func listensTo(t *testing.T, store *postgres.Store) (heard <-chan string, end func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	listening, skus, over := make(chan struct{}), make(chan string, 9), make(chan error, 1)
	go func() { over <- store.Watch(ctx, func() { close(listening) }, func(sku string) { skus <- sku }) }()
	<-listening
	return skus, func() {
		t.Helper()
		cancel()
		if err := <-over; !errors.Is(err, context.Canceled) {
			t.Errorf("ended with %v, want %v", err, context.Canceled)
		}
	}
}

// TestWatchHearsRestocks: once each, none for a replay, none for a deduction.
func TestWatchHearsRestocks(t *testing.T) {
	t.Parallel()
	busytest.Virtual(t, func(t *testing.T) {
		store, _ := fresh(t, 1)
		heard, end := listensTo(t, store)
		for _, ref := range []string{"one", "one", "two"} {
			orders := []stock.Order{{OrderID: ref, Quantity: 1}}
			if _, err := store.Deduct(t.Context(), stock.Batch{SKU: "a", Layout: 1, At: time.Now(), Orders: orders}); err != nil {
				t.Fatal(err)
			}
			if _, err := store.Move(t.Context(), restock("a", ref)); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := store.CreateSKU(t.Context(), stock.NewSKU{SKU: "end", Segments: 1}, time.Now()); err != nil {
			t.Fatal(err)
		}
		if _, err := store.Move(t.Context(), restock("end", "end")); err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{"a", "a", "end"} {
			if got := <-heard; got != want {
				t.Errorf("heard of %q, want %q", got, want)
			}
		}
		end()
	})
}

// TestASweepTellsOnlyOfEmptySKUs: reservations of two SKUs expire. The one that had units left is not told of.
func TestASweepTellsOnlyOfEmptySKUs(t *testing.T) {
	t.Parallel()
	busytest.Virtual(t, func(t *testing.T) {
		store, _ := fresh(t, 1)
		ctx, at := t.Context(), time.Now()
		for sku, units := range map[string]int64{"empty": 1, "left": 2} {
			if _, err := store.CreateSKU(ctx, stock.NewSKU{SKU: sku, Stock: units, Segments: 1}, at); err != nil {
				t.Fatal(err)
			}
			reserved := []stock.Order{{OrderID: "o", Quantity: 1, ReserveFor: time.Minute}}
			if _, err := store.Deduct(ctx, stock.Batch{SKU: sku, Layout: 1, At: at, Orders: reserved}); err != nil {
				t.Fatal(err)
			}
		}
		heard, end := listensTo(t, store)
		if ended, err := store.ExpireFree(ctx, at.Add(time.Hour), "empty", "left"); err != nil || len(ended) != 2 {
			t.Fatalf("ended %v, %v, want one reservation of each", ended, err)
		}
		if _, err := store.Move(ctx, restock("a", "end")); err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{"empty", "a"} {
			if got := <-heard; got != want {
				t.Errorf("heard of %q, want %q", got, want)
			}
		}
		end()
	})
}

// TestWatchHearsWhatComesBack: one notification for each write that gives units back and leaves some, none for others.
func TestWatchHearsWhatComesBack(t *testing.T) {
	t.Parallel()
	busytest.Virtual(t, func(t *testing.T) {
		store, _ := fresh(t, 10)
		ctx := t.Context()
		heard, end := listensTo(t, store)
		at := time.Now()
		reserve := func(id string, quantity int64) error {
			_, err := store.Deduct(ctx, stock.Batch{SKU: "a", Layout: 1, At: at, Orders: []stock.Order{
				{OrderID: id, Quantity: quantity, ReserveFor: time.Minute},
			}})
			return err
		}
		settle := func(request stock.SettleRequest) error {
			_, err := store.Settle(ctx, stock.Settlement{SKU: "a", At: at, Requests: []stock.SettleRequest{request}})
			return err
		}
		merge := func(id string, quantity int64, at time.Time) error {
			_, err := store.Merge(ctx, stock.Batch{SKU: "a", Layout: 1, At: at, Orders: []stock.Order{{OrderID: id, Quantity: quantity}}})
			return err
		}
		retake := func(id string, at time.Time) error {
			_, err := store.Retake(ctx, time.Time{}, stock.Retake{SKU: "a", Layout: 1, At: at, Request: stock.SettleRequest{OrderID: id}})
			return err
		}
		later := at.Add(time.Hour)
		for _, c := range []struct {
			name string
			do   func() error
			want bool
		}{
			{"reserve", func() error { return errors.Join(reserve("r", 4), reserve("s", 2), reserve("t", 2), reserve("u", 1)) }, false},
			{"commit", func() error { return settle(stock.SettleRequest{OrderID: "s"}) }, false},
			{"extend", func() error {
				return settle(stock.SettleRequest{OrderID: "r", Ref: "a", Verb: stock.Extend, ExtendFor: time.Hour})
			}, false},
			{"cancel of a part", func() error {
				return settle(stock.SettleRequest{OrderID: "r", Ref: "b", Verb: stock.Cancel, Quantity: 1})
			}, true},
			{"cancel of a part again", func() error {
				return settle(stock.SettleRequest{OrderID: "r", Ref: "b", Verb: stock.Cancel, Quantity: 1})
			}, false},
			{"commit of a part", func() error { return settle(stock.SettleRequest{OrderID: "r", Quantity: 2}) }, true},
			{"return", func() error { return settle(stock.SettleRequest{OrderID: "r", Verb: stock.Return}) }, true},
			{"merge", func() error { return merge("m", 5, at) }, false},
			{"merge that takes all that came back", func() error { return merge("n", 3, later) }, false},
			{"return once more", func() error { return settle(stock.SettleRequest{OrderID: "r", Verb: stock.Return}) }, false},
			{"adjust up", func() error { return move(store.Move(ctx, change(stock.Adjusted, 5))) }, true},
			{"adjust down", func() error { return move(store.Move(ctx, change(stock.Adjusted, -1))) }, false},
			{"retake of what is committed, while others have expired", func() error {
				return errors.Join(reserve("v", 1), retake("s", at.Add(time.Minute)))
			}, true},
			{"resegment", func() error { return move(store.Move(ctx, change(stock.Resegmented, 0))) }, false},
		} {
			if err := c.do(); err != nil {
				t.Fatalf("%s: %v", c.name, err)
			}
			// Notifications come in the order of the commits, so this one shows whether there was another before it.
			if _, err := store.CreateSKU(ctx, stock.NewSKU{SKU: "mark", Segments: 1}, at); err != nil {
				t.Fatal(err)
			}
			if _, err := store.Move(ctx, restock("mark", c.name)); err != nil {
				t.Fatal(err)
			}
			first := <-heard
			if (first == "a") != c.want {
				t.Errorf("%s: heard of %q", c.name, first)
			}
			if first == "a" {
				<-heard
			}
		}
		end()
	})
}

func move(_ bool, err error) error { return err }

func change(kind stock.MovementKind, units int64) stock.Movement {
	m := stock.Movement{SKU: "a", Ref: fmt.Sprint(kind, units), Kind: kind, Quantity: units, Reason: "r", At: time.Now()}
	if kind == stock.Resegmented {
		m.Segments = 2
	}
	return m
}

func restock(sku, ref string) stock.Movement {
	return stock.Movement{SKU: sku, Ref: ref, Kind: stock.Restocked, Quantity: 1, At: time.Now()}
}

// TestWatchEndsWithItsConnection also takes no connection from the pool.
func TestWatchEndsWithItsConnection(t *testing.T) {
	t.Parallel()
	busytest.Virtual(t, func(t *testing.T) {
		store, conn := fresh(t, 1)
		listening, over := make(chan struct{}), make(chan error, 1)
		go func() { over <- store.Watch(t.Context(), func() { close(listening) }, func(string) {}) }()
		<-listening
		if _, err := conn.Exec(t.Context(), terminateListeners); err != nil {
			t.Fatal(err)
		}
		if err := <-over; err == nil || t.Context().Err() != nil {
			t.Errorf("ended with %v", err)
		}
		if _, err := store.Move(t.Context(), restock("a", "r")); err != nil {
			t.Errorf("the pool: %v", err)
		}
	})
}

const terminateListeners = `
SELECT pg_terminate_backend(pid) FROM pg_stat_activity
WHERE datname = current_database() AND application_name = 'inventory notices'`

// TestANotificationMayBeLate: a slow server or network is no reason to say that none can arrive.
func TestANotificationMayBeLate(t *testing.T) {
	busytest.Slow(t)
	t.Parallel()
	for name, c := range map[string]struct {
		by    time.Duration
		hears bool
	}{
		"by more than it is waited for":       {2300 * time.Millisecond, true},
		"by more than a server has to answer": {10 * time.Second, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			direct := database(t)
			through, p := startPooler(t, neverShares, direct)
			store := openStore(t, direct)
			if err := store.ListenAt(through + "&default_query_exec_mode=cache_statement"); err != nil {
				t.Fatal(err)
			}
			sell(t, store)
			p.lateBy.Store(int64(c.by))
			if c.hears {
				hears(t, store, store, nil)
			} else if err := listens(t, store, store); err == nil || errors.Is(err, postgres.ErrDeaf) {
				t.Errorf("it hears: %v, want an error, and not %v", err, postgres.ErrDeaf)
			}
		})
	}
}

// TestAnotherDatabaseIsNotHeardFor ever, although its notifications arrive.
func TestAnotherDatabaseIsNotHeardFor(t *testing.T) {
	busytest.Slow(t)
	t.Parallel()
	store, other := openStore(t, database(t)), database(t)
	if err := store.ListenAt(other); err != nil {
		t.Fatal(err)
	}
	beside := session(t, other)
	defer beside.Close(t.Context())
	stop, notified := make(chan struct{}), make(chan error, 1)
	go func() {
		for {
			select {
			case <-stop:
				notified <- nil
				return
			case <-time.After(50 * time.Millisecond):
				if _, err := beside.Exec(t.Context(), `NOTIFY inventory_restocked, 'a'`); err != nil {
					notified <- err
					return
				}
			}
		}
	}()
	busytest.Soon(t, "it is known that nothing arrives", func() bool { // on a slow machine it may give up before
		err := store.Watch(busytest.Context(t), func() { t.Error("it listens") }, func(string) {})
		return errors.Is(err, postgres.ErrDeaf)
	})
	close(stop)
	if err := <-notified; err != nil {
		t.Error(err)
	}
}
