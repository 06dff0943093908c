package app_test

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"

	"inventory/internal/app"
	"inventory/internal/stock"
)

// TestReadersOfManyReservationsCostNoMore lets 32 callers read a SKU while 8 others buy. Buyers and readers have the same
// rates as with a SKU without reservations.
func TestReadersOfManyReservationsCostNoMore(t *testing.T) {
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
		bought, without := honest.countBeside(plain)
		boughtToo, with := honest.countBeside(reserved)
		kept = max(kept, float64(boughtToo)/float64(max(1, bought)))
		if read = max(read, float64(with)/float64(max(1, without))); kept >= 0.8 && read >= 0.7 {
			return
		}
	}
	t.Errorf("buyers kept %.2f of their rate, want 0.8; readers %.2f of theirs, want 0.7", kept, read)
}

// countBeside counts the orders that are accepted in a window, and the reads of the others in it.
func (l *load) countBeside(others *load) (accepted, reads int) {
	l.Helper()
	l.runFor(l.Context(), besideLeadIn)
	var beside sync.WaitGroup
	beside.Go(func() { reads = others.runFor(l.Context(), besideWindow)[http.StatusOK] })
	accepted = l.runFor(l.Context(), besideWindow)[http.StatusCreated]
	beside.Wait()
	return accepted, reads
}

// reserve writes live reservations of one unit each. A stranger could make as many in time.
func (s *site) reserve(sku string, reservations int) {
	s.Helper()
	conn, err := pgx.Connect(s.Context(), s.url)
	if err != nil {
		s.Fatal(err)
	}
	defer conn.Close(s.Context())
	for _, statement := range []string{
		`INSERT INTO deductions (sku_id, order_id, quantity, segment, status, expires_at, created_at)
		 SELECT $1, 'r-' || n, 1, 0, 'reserved', now() + interval '1 hour', now() FROM generate_series(1, $2::bigint) n`,
		`UPDATE stock_segments SET available = available - $2, reserved = reserved + $2 WHERE sku_id = $1 AND segment = 0`,
	} {
		if _, err := conn.Exec(s.Context(), statement, sku, reservations); err != nil {
			s.Fatal(err)
		}
	}
}
