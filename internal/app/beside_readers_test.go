package app_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"inventory/internal/app"
	"inventory/internal/stock"
)

// reservedUnits are live reservations of the SKU that is read: a stranger can make as many.
const reservedUnits = 5000

// TestReadersOfManyReservationsCostNoMore lets 32 callers read a SKU while 8 others buy. Those who buy keep the rate that they have
// beside readers of a SKU without reservations.
func TestReadersOfManyReservationsCostNoMore(t *testing.T) {
	a := open(t, app.LockReentrant, redisServers[0].URL()).apps[0]
	for _, sku := range []string{"reserved", "plain", "bought"} {
		if _, _, err := a.Service().CreateSKU(t.Context(), stock.NewSKU{SKU: sku, Stock: shopStock, Segments: shopSegments}); err != nil {
			t.Fatal(err)
		}
	}
	var reserving sync.WaitGroup
	for part := range 64 {
		reserving.Go(func() {
			for n := part; n < reservedUnits; n += 64 {
				o := stock.Order{OrderID: strconv.Itoa(n), Quantity: 1, ReserveFor: time.Hour}
				if _, _, err := a.Service().Deduct(t.Context(), "reserved", o); err != nil {
					t.Error(err)
				}
			}
		})
	}
	reserving.Wait()
	honest := newLoad(t, a, 8, func(ctx context.Context, c *caller, _, n int) int {
		return c.post(ctx, "/v1/skus/bought/deductions", fmt.Appendf(nil, `{"order_id":"o-%d","quantity":1}`, n))
	})
	readers := func(sku string) *load {
		return newLoad(t, a, 32, func(ctx context.Context, c *caller, _, _ int) int { return c.get(ctx, "/v1/skus/"+sku) })
	}
	plain, reserved := readers("plain"), readers("reserved")
	ratios := make([]float64, besideRounds)
	for i := range ratios {
		ratios[i] = float64(honest.acceptedBeside(reserved)) / float64(max(1, honest.acceptedBeside(plain)))
	}
	if kept := slices.Max(ratios); kept < 0.8 {
		t.Errorf("kept %.2f of the rate", ratios)
	}
}

// acceptedBeside counts the orders that are accepted in a window beside others.
func (l *load) acceptedBeside(others *load) int {
	l.Helper()
	ctx, cancel := context.WithCancel(l.Context())
	var beside sync.WaitGroup
	beside.Go(func() { others.run(ctx) })
	l.runFor(ctx, besideLeadIn)
	told := l.runFor(ctx, besideWindow)
	cancel()
	beside.Wait()
	return told[http.StatusCreated]
}

// get returns the status of an answer; 0 where there is none.
func (c *caller) get(ctx context.Context, path string) int {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, c.url+path, nil)
	if err != nil {
		return 0
	}
	response, err := c.Do(request)
	if err != nil {
		return 0
	}
	defer response.Body.Close()
	if _, err := io.Copy(io.Discard, response.Body); err != nil {
		return 0
	}
	return response.StatusCode
}
