package app_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"inventory/internal/app"
	"inventory/internal/busytest"
	"inventory/internal/stock"
)

// TestReadersOfManyReservationsCostNoMore lets 32 callers read a SKU while 8 others buy. Buyers and readers have the same
// rates as with a SKU without reservations, which is the control.
func TestReadersOfManyReservationsCostNoMore(t *testing.T) {
	busytest.Slow(t)
	s := open(t, app.LockReentrant, redisServers[0].URL())
	a := s.apps[0]
	for _, sku := range []string{"reserved", "plain", "bought"} {
		if _, _, err := a.Service().CreateSKU(t.Context(), stock.NewSKU{SKU: sku, Stock: shopStock, Segments: shopSegments}); err != nil {
			t.Fatal(err)
		}
	}
	s.reserve("reserved", 50_000)
	honest := newLoad(t, a, 8, func(ctx context.Context, c *caller, _, n int) int {
		return c.post(ctx, "/v1/skus/bought/deductions", fmt.Appendf(nil, `{"order_id":"o-%d","quantity":1}`, n))
	})
	readers := func(sku string) *load {
		return newLoad(t, a, 32, func(ctx context.Context, c *caller, _, _ int) int { return c.get(ctx, "/v1/skus/"+sku) })
	}
	plain, reserved := readers("plain"), readers("reserved")
	var kept, read float64 // at best
	for range besideRounds {
		bought, without := honest.ratesBeside(plain)
		boughtToo, with := honest.ratesBeside(reserved)
		kept = max(kept, boughtToo/bought)
		if read = max(read, with/max(1, without)); kept >= 0.8 && read >= 0.7 || t.Failed() {
			return
		}
	}
	t.Errorf("buyers kept %.2f of their rate, want 0.8; readers %.2f of theirs, want 0.7", kept, read)
}

// ratesBeside returns how many orders are accepted in a second, and how many the others read.
func (l *load) ratesBeside(others *load) (orders, reads float64) {
	l.t.Helper()
	all, cancel := context.WithCancel(l.t.Context())
	var beside sync.WaitGroup
	beside.Go(func() { others.run(all) })
	l.runFor(all, besideLeadIn, leadInOrders)
	begin, before := time.Now(), others.taken.Load()
	_, orders = l.runFor(all, besideWindow, windowOrders)
	reads = float64(others.taken.Load()-before) / time.Since(begin).Seconds()
	cancel()
	beside.Wait()
	return orders, reads
}

// reserve writes live reservations of one unit each. A stranger could make as many in time.
func (s *site) reserve(sku string, reservations int) {
	s.t.Helper()
	conn, err := pgx.Connect(s.t.Context(), s.url)
	if err != nil {
		s.t.Fatal(err)
	}
	defer conn.Close(s.t.Context())
	for _, statement := range []string{
		`INSERT INTO deductions (sku_id, order_id, quantity, segment, status, expires_at, created_at)
		 SELECT $1, 'r-' || n, 1, 0, 'reserved', now() + interval '1 hour', now() FROM generate_series(1, $2::bigint) n`,
		`UPDATE stock_segments SET available = available - $2, reserved = reserved + $2 WHERE sku_id = $1 AND segment = 0`,
	} {
		if _, err := conn.Exec(s.t.Context(), statement, sku, reservations); err != nil {
			s.t.Fatal(err)
		}
	}
}
