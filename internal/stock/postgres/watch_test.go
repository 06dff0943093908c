package postgres_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"inventory/internal/stock"
)

// TestWatchHearsRestocks: once each, none for a replay, none for a deduction.
func TestWatchHearsRestocks(t *testing.T) {
	store, _ := fresh(t, 1)
	ctx, cancel := context.WithCancel(t.Context())
	listening, heard, over := make(chan struct{}), make(chan string, 9), make(chan error, 1)
	go func() { over <- store.Watch(ctx, func() { close(listening) }, func(sku string) { heard <- sku }) }()
	<-listening
	for _, ref := range []string{"one", "one", "two"} {
		orders := []stock.Order{{OrderID: ref, Quantity: 1}}
		if _, err := store.Deduct(t.Context(), stock.Batch{SKU: "a", Layout: 1, At: time.Now(), Orders: orders}); err != nil {
			t.Fatal(err)
		}
		if _, err := store.Restock(t.Context(), restock("a", ref)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := store.CreateSKU(t.Context(), stock.NewSKU{SKU: "end", Segments: 1}, time.Now()); err != nil {
		t.Fatal(err)
	}
	if _, err := store.Restock(t.Context(), restock("end", "end")); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"a", "a", "end"} {
		if got := <-heard; got != want {
			t.Errorf("heard of %q, want %q", got, want)
		}
	}
	cancel()
	if err := <-over; !errors.Is(err, context.Canceled) {
		t.Errorf("ended with %v", err)
	}
}

func restock(sku, ref string) stock.Movement {
	return stock.Movement{SKU: sku, Ref: ref, Kind: stock.Restocked, Quantity: 1, At: time.Now()}
}

// TestWatchEndsWithItsConnection also takes no connection from the pool.
func TestWatchEndsWithItsConnection(t *testing.T) {
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
	if _, err := store.Restock(t.Context(), restock("a", "r")); err != nil {
		t.Errorf("the pool: %v", err)
	}
}

const terminateListeners = `
SELECT pg_terminate_backend(pid) FROM pg_stat_activity
WHERE datname = current_database() AND application_name = 'inventory notices'`
