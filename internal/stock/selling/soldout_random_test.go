package selling_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"inventory/internal/busytest"
	"inventory/internal/stock"
	"inventory/internal/stock/selling"
)

// market is several processes that sell one SKU, which sells out and is restocked all the time.
type market struct {
	*world
	services []*selling.Service
	told     tally
	restocks atomic.Int64
	// elsewhere counts accepted orders that were refused, when sent again, by a process that did not yet know the
	// restock they came from.
	elsewhere atomic.Int64

	mu         sync.Mutex
	restocking int       // restocks under way
	restored   time.Time // when the last one returned
}

// won is an order that was accepted, and by which process.
type won struct {
	order stock.Order
	at    int
}

// TestRandomSales lets orders, retries of accepted orders, and restocks meet at random.
func TestRandomSales(t *testing.T) {
	busytest.Slow(t)
	for name, open := range map[string]func(*testing.T) *world{
		"one process on SQLite": embedded, "three that hear nothing of others": silent,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			virtually(t, open, sellAtRandom)
		})
	}
	t.Run("three processes on PostgreSQL", func(t *testing.T) {
		t.Parallel()
		sellAtRandom(t, real(t))
	})
}

// sellAtRandom has random sales in a world.
func sellAtRandom(t *testing.T, w *world) {
	m := &market{world: w, services: w.processes(3)}
	w.create(m.services[0], 20, 4)
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	group, ctx := errgroup.WithContext(t.Context())
	for buyer := range 12 {
		group.Go(func() error { return m.oneBuyer(ctx, buyer, rand.New(rand.NewPCG(seed, uint64(buyer)))) })
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
	m.clear()
	t.Logf("%d restocks, %d accepted, %d refused; %d winners were refused elsewhere",
		m.restocks.Load(), m.told.accepted, m.told.soldOut, m.elsewhere.Load())
	if err := errors.Join(m.told.errors...); err != nil {
		t.Error(err)
	}
	if b := w.audit(); b.Available != 0 || b.Committed != m.told.units {
		t.Errorf("the rows hold %d units and sold %d, buyers were told of %d", b.Available, b.Committed, m.told.units)
	}
}

// oneBuyer plays one buyer.
func (m *market) oneBuyer(ctx context.Context, buyer int, random *rand.Rand) error {
	var mine []won
	for n := range 100 {
		time.Sleep(time.Duration(random.Int64N(int64(20 * time.Millisecond)))) // between orders, not for a result
		id := fmt.Sprintf("%d-%d", buyer, n)
		at := random.IntN(len(m.services))
		switch dice := random.IntN(100); {
		case dice < 2:
			m.restockAt(at, id, random.Int64N(6)+1)
		case dice < 50 && len(mine) > 0:
			w := mine[random.IntN(len(mine))]
			if err := m.again(ctx, w, random.IntN(len(m.services))); err != nil {
				return err
			}
		default:
			o := stock.Order{OrderID: id, BuyerID: "b", Quantity: random.Int64N(3) + 1}
			if m.buy(at, o) {
				mine = append(mine, won{o, at})
			}
		}
	}
	return nil
}

// buy sends an order that nobody has sent before, and reports whether it was accepted.
func (m *market) buy(at int, o stock.Order) bool {
	_, err := m.ask(m.services[at], o)
	m.told.add(o, err == nil, err)
	return err == nil
}

func (m *market) restockAt(at int, ref string, units int64) {
	m.mu.Lock()
	m.restocking++
	m.mu.Unlock()
	m.restock(m.services[at], ref, units)
	m.restocks.Add(1)
	m.mu.Lock()
	m.restocking--
	m.restored = time.Now()
	m.mu.Unlock()
}

// unheard reports whether a restock was under way within the last second before since, so that a process may not know
// of it.
func (m *market) unheard(since time.Time) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.restocking > 0 || since.Sub(m.restored) < time.Second
}

// again repeats an accepted order. The process that has accepted it never refuses it, and the others know it a second
// after the restock that it came from.
func (m *market) again(ctx context.Context, w won, at int) error {
	asked := time.Now()
	var d stock.Deduction
	var created bool
	err := patiently(m.t, func() (err error) {
		d, created, err = m.services[at].Deduct(ctx, sku, w.order)
		return err
	})
	switch {
	case stock.CodeOf(err) == stock.CodeSoldOut && at != w.at && m.unheard(asked):
		m.elsewhere.Add(1)
		return nil
	case err != nil:
		return fmt.Errorf("%s was accepted by process %d, and process %d said: %w", w.order.OrderID, w.at, at, err)
	case created || d.Quantity != w.order.Quantity:
		return fmt.Errorf("%s again: created %v, %+v", w.order.OrderID, created, d)
	}
	return nil
}

// clear buys the rest. Each process knows of it a second after the last restock.
func (m *market) clear() {
	m.t.Helper()
	n := 0
	busytest.Soon(m.t, "all is sold", func() bool {
		left := m.unheard(time.Now())
		for at := range m.services {
			n++
			left = m.buy(at, stock.Order{OrderID: fmt.Sprint("last-", n), Quantity: 1}) || left
		}
		return !left
	})
}
