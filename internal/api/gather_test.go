package api_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"inventory/internal/api/client"
	"inventory/internal/app"
	"inventory/internal/servertest"
)

// TestGatheredSale sells out through a client that gathers, at two processes with one database. Every buyer orders twice.
func TestGatheredSale(t *testing.T) {
	t.Parallel()
	server, err := servertest.StartPostgres(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Stop(); err != nil {
			t.Error(err)
		}
	})
	const skus, stock, buyers = 3, 40, 200
	one := openWith(t, app.Config{DatabaseURL: server.URL(), Lock: app.LockNone})
	other := openWith(t, app.Config{DatabaseURL: server.URL(), Lock: app.LockNone})
	fleet, err := client.NewFleet([]string{one.url, other.url}, 8, time.Minute, client.Gather{Orders: 20})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(fleet.Close)
	for i := range skus {
		one.want(one.send("PUT", fmt.Sprint("/v1/skus/s", i), fmt.Sprintf(`{"stock":%d}`, stock)), 201, "")
	}
	var mu sync.Mutex
	won := make(map[int]int) // orders by status
	var wg sync.WaitGroup
	for i := range buyers {
		wg.Go(func() {
			order := client.NewDeduction{OrderID: fmt.Sprint("o", i), Quantity: 1}
			first, err1 := fleet.Deduct(t.Context(), fmt.Sprint("s", i%skus), order)
			again, err2 := fleet.Deduct(t.Context(), fmt.Sprint("s", i%skus), order)
			if err1 != nil || err2 != nil || first.OK() != again.OK() || again.Status == 201 || first.OK() && first.Body.OrderID != order.OrderID {
				t.Errorf("order %d: %+v %v, %+v %v", i, first, err1, again, err2)
			}
			mu.Lock()
			defer mu.Unlock()
			won[first.Status]++
		})
	}
	wg.Wait()
	if won[201] != skus*stock || won[409] != buyers-skus*stock {
		t.Errorf("got %v", won)
	}
	if a := one.send("GET", "/v1/audit", ""); !strings.Contains(a.body, `"ok":true`) {
		t.Error(a.body)
	}
	if metrics := one.admin("/metrics"); !strings.Contains(metrics, `route="/v1/deductions",status="201"`) {
		t.Error("no orders were gathered")
	}
}
