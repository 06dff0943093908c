package selling_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"inventory/internal/stock"
	"inventory/internal/stock/selling"
)

// TestWhatSomebodyHoldsDelaysNoOtherSKU: another transaction holds the rows of some SKUs, or of their buyers, or order
// ids that it has not committed. Buyers of these SKUs wait. The 99th percentile of all other orders at most doubles,
// and none of them waits. There are several such SKUs, because a batch that meets no other is written alone: the others
// meet each other.
func TestWhatSomebodyHoldsDelaysNoOtherSKU(t *testing.T) {
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
			for attempt := 1; ; attempt++ { // the machine may do other work
				before, _ := h.sell(heldWindow / 2)
				waited, held, longest := h.held(c.hold)
				after, _ := h.sell(heldWindow / 2)
				quiet := max(before, after)
				t.Logf("p99 %v, and %v while it is held; the SKU's buyers waited for %v, others for %v at most", quiet, held, waited, longest)
				if waited < heldWindow/2 {
					t.Fatalf("the SKU's own buyers waited for %v only", waited)
				}
				if held <= 2*quiet && longest < waited/2 {
					break
				}
				if attempt == 4 {
					t.Errorf("p99 of other SKUs is %v while it is held, and %v when nothing is", held, quiet)
					break
				}
			}
			h.auditAll()
		})
	}
}

// held is a service that sells many SKUs to many callers, and some more SKUs called stuck.
type held struct {
	*world
	service *selling.Service
	orders  int
}

const heldSKUs, stuckSKUs, heldCallers = 100, 3, 32

func openHeld(t *testing.T, terms stock.Terms) *held {
	t.Helper()
	w := real(t)
	h := &held{world: w, service: w.start(nil)}
	for n := range heldSKUs {
		h.add(stock.NewSKU{SKU: fmt.Sprint("sku-", n), Stock: 100_000, Segments: 2})
	}
	for n := range stuckSKUs {
		h.add(stock.NewSKU{SKU: stuck(n), Stock: 1000, Segments: 1, Terms: terms})
		h.buyStuck(t.Context(), n, "before")
	}
	return h
}

func (h *held) add(sku stock.NewSKU) {
	h.Helper()
	if _, _, err := h.service.CreateSKU(h.Context(), sku); err != nil {
		h.Fatal(err)
	}
}

func stuck(n int) string { return fmt.Sprint("stuck-", n) }

// buyStuck buys one unit of a SKU that is held.
func (h *held) buyStuck(ctx context.Context, n int, id string) {
	_, _, err := h.service.Deduct(ctx, stuck(n), stock.Order{OrderID: id, BuyerID: "b", Quantity: 1})
	if err != nil && stock.CodeOf(err) != stock.CodeUnavailable { // after a long wait
		h.Error(err)
	}
}

// heldWindow is how long to measure: for some thousands of orders.
const heldWindow = time.Second

// sell sells other SKUs, and returns how long an order takes.
func (h *held) sell(window time.Duration) (p99, longest time.Duration) {
	h.Helper()
	h.orders++
	var mu sync.Mutex
	var all []time.Duration
	var callers sync.WaitGroup
	until := time.Now().Add(window)
	for caller := range heldCallers {
		callers.Go(func() {
			var took []time.Duration
			for n := 0; time.Now().Before(until); n++ {
				start := time.Now()
				o := stock.Order{OrderID: fmt.Sprint(h.orders, " ", caller, " ", n), Quantity: 1}
				if _, _, err := h.service.Deduct(h.Context(), fmt.Sprint("sku-", rand.IntN(heldSKUs)), o); err != nil {
					h.Error(err)
					return
				}
				took = append(took, time.Since(start))
			}
			mu.Lock()
			defer mu.Unlock()
			all = append(all, took...)
		})
	}
	callers.Wait()
	slices.Sort(all)
	return all[len(all)*99/100], all[len(all)-1]
}

// held sells while a transaction holds something that the buyers of its SKUs need. It returns the shortest wait of the
// first of them.
func (h *held) held(statement string) (waited, p99, longest time.Duration) {
	h.Helper()
	conn, err := pgx.Connect(h.Context(), h.url)
	if err != nil {
		h.Fatal(err)
	}
	defer conn.Close(context.WithoutCancel(h.Context()))
	if _, err := conn.Exec(h.Context(), "BEGIN; "+strings.Replace(statement, "%d", fmt.Sprint(h.orders), 1)); err != nil {
		h.Fatal(err)
	}
	var buyers sync.WaitGroup
	id, later := fmt.Sprint("held ", h.orders), fmt.Sprint(h.orders, " stuck")
	each := make([]time.Duration, stuckSKUs)
	for n := range stuckSKUs {
		buyers.Go(func() {
			time.Sleep(heldWindow / 10) // until others sell
			start := time.Now()
			h.buyStuck(h.Context(), n, id)
			each[n] = time.Since(start)
		})
		buyers.Go(func() {
			time.Sleep(heldWindow / 5)
			h.buyStuck(h.Context(), n, later)
		})
	}
	p99, longest = h.sell(heldWindow)
	if _, err := conn.Exec(h.Context(), "ROLLBACK"); err != nil {
		h.Error(err)
	}
	buyers.Wait()
	return slices.Min(each), p99, longest
}

func (h *held) auditAll() {
	h.Helper()
	if audit, err := h.store.Audit(h.Context(), ""); err != nil || !audit.OK() {
		h.Errorf("audit: got %+v, %v, want no difference and no violation", audit, err)
	}
}
