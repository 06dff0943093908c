package selling_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"inventory/internal/busytest"
	"inventory/internal/stock"
	"inventory/internal/stock/selling"
)

// TestHeldSKUDelaysNoOther: another transaction holds the rows of some SKUs, or of their buyers, or order
// ids that it has not committed, until the orders of all other SKUs are answered. Buyers of these SKUs wait. The 99th percentile of
// all other orders at most doubles, beside a control without such a transaction, after the one wait of a shared write for such a row. There are
// several such SKUs, because a batch that meets no other is written alone: the others meet each other.
func TestHeldSKUDelaysNoOther(t *testing.T) {
	busytest.Slow(t)
	const insert = `INSERT INTO deductions (sku_id, order_id, quantity, segment, status, created_at)
		SELECT sku_id, 'held %d', 1, 0, 'committed', now() FROM skus WHERE sku_id ~ '^stuck'`
	for name, c := range map[string]struct {
		terms stock.Terms
		hold  string
	}{
		"a row of a segment": {stock.Terms{}, `SELECT FROM stock_segments WHERE sku_id ~ '^stuck' FOR UPDATE`},
		"a row of a buyer":   {stock.Terms{PerBuyerLimit: 1000}, `SELECT FROM buyers WHERE sku_id ~ '^stuck' FOR UPDATE`},
		"an order id":        {stock.Terms{}, insert},
	} {
		t.Run(name, func(t *testing.T) {
			h := openHeld(t, c.terms)
			quiet, held := time.Duration(0), time.Duration(1<<62)
			for range 5 { // noise makes some of them longer, and none shorter
				quiet, held = max(quiet, h.sell()), min(held, h.held(c.hold))
				t.Logf("p99 %v at most, and %v at least while it is held", quiet, held)
				if held <= 2*quiet+sharedWait {
					break
				}
			}
			if held > 2*quiet+sharedWait {
				t.Errorf("p99 of other SKUs is %v while it is held, and %v when nothing is", held, quiet)
			}
			h.auditAll()
		})
	}
}

// sharedWait is how long a shared write waits for a row (postgres/deduct.sql). The orders that share it wait, too.
const sharedWait = 50 * time.Millisecond

// held is a service that sells many SKUs to many callers, and some more SKUs called stuck.
type held struct {
	*world
	service *selling.Service
	sales   int
}

const heldSKUs, stuckSKUs, heldCallers, heldOrders = 100, 3, 32, 30

func openHeld(t *testing.T, terms stock.Terms) *held {
	t.Helper()
	w := real(t)
	h := &held{world: w, service: w.start(nil)}
	for n := range heldSKUs {
		h.add(stock.NewSKU{SKU: fmt.Sprint("sku-", n), Stock: 100_000, Segments: 2})
	}
	for n := range stuckSKUs {
		h.add(stock.NewSKU{SKU: stuck(n), Stock: 1000, Segments: 1, Terms: terms})
		h.buy(stuck(n), "before")
	}
	return h
}

func (h *held) add(sku stock.NewSKU) {
	h.t.Helper()
	err := patiently(h.t, func() error {
		_, _, err := h.service.CreateSKU(h.t.Context(), sku)
		return err
	})
	if err != nil {
		h.t.Fatal(err)
	}
}

func stuck(n int) string { return fmt.Sprint("stuck-", n) }

// buy buys one unit of a SKU.
func (h *held) buy(sku, id string) {
	err := patiently(h.t, func() error {
		_, _, err := h.service.Deduct(h.t.Context(), sku, stock.Order{OrderID: id, BuyerID: "b", Quantity: 1})
		return err
	})
	if err != nil {
		h.t.Error(err)
	}
}

// sell sells other SKUs, and returns how long an order takes.
func (h *held) sell() (p99 time.Duration) {
	h.sales++
	all := make([]time.Duration, heldCallers*heldOrders)
	var callers sync.WaitGroup
	for caller := range heldCallers {
		callers.Go(func() {
			for n := range heldOrders {
				start := time.Now()
				h.buy(fmt.Sprint("sku-", rand.IntN(heldSKUs)), fmt.Sprint(h.sales, " ", caller, " ", n))
				all[caller*heldOrders+n] = time.Since(start)
			}
		})
	}
	callers.Wait()
	slices.Sort(all)
	return all[len(all)*99/100]
}

// held sells while a transaction holds something that the buyers of its SKUs need.
func (h *held) held(statement string) (p99 time.Duration) {
	h.t.Helper()
	conn, err := pgx.Connect(h.t.Context(), h.url)
	if err != nil {
		h.t.Fatal(err)
	}
	defer conn.Close(context.WithoutCancel(h.t.Context()))
	if strings.Contains(statement, "%d") {
		statement = fmt.Sprintf(statement, h.sales)
	}
	if _, err := conn.Exec(h.t.Context(), "BEGIN; "+statement); err != nil {
		h.t.Fatal(err)
	}
	var buyers sync.WaitGroup
	var answered atomic.Int64
	id, later := fmt.Sprint("held ", h.sales), fmt.Sprint(h.sales, " stuck")
	for n := range stuckSKUs {
		buyers.Go(func() {
			h.buy(stuck(n), id)
			answered.Add(1)
		})
		buyers.Go(func() { h.buy(stuck(n), later) })
	}
	p99 = h.sell()
	early := answered.Load()
	if _, err := conn.Exec(h.t.Context(), "ROLLBACK"); err != nil {
		h.t.Error(err)
	}
	buyers.Wait()
	if early > 0 {
		h.t.Errorf("%d buyers of the SKUs that are held were answered at once", early)
	}
	return p99
}
