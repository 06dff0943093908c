package app_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptrace"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"inventory/internal/app"
	"inventory/internal/stock"
)

// TestNobodyFillsAQueueForOthers lets 10,000 callers queue for a SKU whose rows are locked. They are in the process
// itself, so they need no connections. Buyers that come later over HTTP find room, and get their units when the rows are
// free.
func TestNobodyFillsAQueueForOthers(t *testing.T) {
	t.Parallel()
	s := open(t, app.LockReentrant, redisServers[0].URL())
	for name, order := range map[string]func(n int) stock.Order{
		"one order id": func(int) stock.Order { return stock.Order{OrderID: "same", Quantity: 1} },
		"one buyer":    func(n int) stock.Order { return stock.Order{OrderID: strconv.Itoa(n), BuyerID: "bot", Quantity: 1} },
	} {
		t.Run(name, func(t *testing.T) {
			sku := fmt.Sprintf("crowded-%d", len(name))
			if _, _, err := s.apps[0].Service().CreateSKU(t.Context(), stock.NewSKU{SKU: sku, Stock: 1_000_000, Segments: 4}); err != nil {
				t.Fatal(err)
			}
			free := s.holdRows(t, sku)
			var crowd sync.WaitGroup
			var refused atomic.Int64
			const callers, mostQueued = 10_000, 9_500 // orders that wait or are being written
			for n := range callers {
				crowd.Go(func() {
					_, _, err := s.apps[0].Service().Deduct(t.Context(), sku, order(n))
					if stock.CodeOf(err) == stock.CodeOverloaded {
						refused.Add(1)
					}
				})
			}
			for pace := time.Tick(time.Millisecond); refused.Load() < callers-mostQueued; <-pace {
			}
			const buyers = 20
			var honest, sent sync.WaitGroup
			sent.Add(buyers)
			ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{
				WroteRequest: func(httptrace.WroteRequestInfo) { sent.Done() },
			})
			for n := range buyers {
				honest.Go(func() {
					body := fmt.Appendf(nil, `{"order_id":"honest-%d","buyer_id":"honest-%d","quantity":1}`, n, n)
					if status := newCaller(t, s.apps[0].URL()).post(ctx, "/v1/skus/"+sku+"/deductions", body); status != http.StatusCreated {
						t.Errorf("an honest buyer was told %d", status)
					}
				})
			}
			sent.Wait()
			free()
			honest.Wait()
			crowd.Wait()
		})
	}
}

// holdRows locks a SKU's rows, as a stopped process does.
func (s *site) holdRows(t *testing.T, sku string) (free func()) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), s.url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := conn.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	tx, err := conn.Begin(t.Context())
	if err == nil {
		_, err = tx.Exec(t.Context(), `SELECT FROM stock_segments WHERE sku_id = $1 FOR UPDATE`, sku)
	}
	if err != nil {
		t.Fatal(err)
	}
	return func() {
		if err := tx.Rollback(t.Context()); err != nil {
			t.Error(err)
		}
	}
}
