package app_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptrace"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"

	"inventory/internal/api/client"
	"inventory/internal/app"
	"inventory/internal/busytest"
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
			busytest.Soon(t, "the crowd is refused", func() bool { return refused.Load() >= callers-mostQueued })
			const buyers = 20
			var honest, sent sync.WaitGroup
			sent.Add(buyers)
			for n := range buyers {
				honest.Go(func() {
					order := fmt.Sprintf(`{"order_id":"honest-%d","buyer_id":"honest-%d","quantity":1}`, n, n)
					if told := s.findsRoom(sku, order, sync.OnceFunc(sent.Done)); told != "" {
						t.Errorf("an honest buyer was told %s", told)
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

// findsRoom orders over HTTP until the order is accepted, and calls sent when it is on its way for the first time. It returns the
// code of a refusal, "" for none. On a busy machine the rows may be locked for longer than a statement waits for them: that is no
// refusal, and the order is sent again.
func (s *site) findsRoom(sku, order string, sent func()) (refusal client.Code) {
	s.t.Helper()
	defer sent() // also if it is never sent
	ctx := httptrace.WithClientTrace(busytest.Context(s.t), &httptrace.ClientTrace{
		WroteRequest: func(httptrace.WroteRequestInfo) { sent() },
	})
	transport := &http.Transport{DisableKeepAlives: true}
	for {
		request, err := http.NewRequestWithContext(ctx, http.MethodPost, s.apps[0].URL()+"/v1/skus/"+sku+"/deductions", strings.NewReader(order))
		if err != nil {
			s.t.Error(err)
			return ""
		}
		request.Header.Set("Content-Type", "application/json")
		response, err := transport.RoundTrip(request)
		if err != nil {
			s.t.Error(err)
			return ""
		}
		var answer struct{ Code client.Code } // of a problem
		err = json.NewDecoder(response.Body).Decode(&answer)
		response.Body.Close()
		switch {
		case err != nil:
			s.t.Error(err)
			return ""
		case response.StatusCode == http.StatusCreated, response.StatusCode == http.StatusOK:
			return ""
		case answer.Code != client.Unavailable:
			return answer.Code
		}
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
