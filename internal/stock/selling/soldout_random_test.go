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

	"inventory/internal/stock"
	"inventory/internal/stock/selling"
)

// market is several processes that sell one SKU, which sells out and is restocked all the time.
type market struct {
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
	for name, open := range map[string]func(*testing.T) *market{
		"one process on SQLite":             openEmbedded,
		"three processes on PostgreSQL":     func(t *testing.T) *market { return openReal(t, false) },
		"three that hear nothing of others": func(t *testing.T) *market { return openReal(t, true) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := open(t)
			seed := rand.Uint64()
			t.Logf("seed %d", seed)
			group, ctx := errgroup.WithContext(t.Context())
			for buyer := range 12 {
				group.Go(func() error { return m.oneBuyer(ctx, buyer, rand.New(rand.NewPCG(seed, uint64(buyer)))) })
			}
			if err := group.Wait(); err != nil {
				t.Fatal(err)
			}
			m.clear(t)
			t.Logf("%d restocks, %d accepted, %d refused; %d winners were refused elsewhere",
				m.restocks.Load(), m.told.accepted, m.told.soldOut, m.elsewhere.Load())
		})
	}
}

func openEmbedded(t *testing.T) *market {
	w := embedded(t)
	m := &market{services: []*selling.Service{w.start(nil)}}
	w.create(m.services[0], 20, 4)
	t.Cleanup(func() { m.check(w) })
	return m
}

func openReal(t *testing.T, deaf bool) *market {
	w := real(t)
	m := &market{}
	for range 3 {
		m.services = append(m.services, w.startOn(&meter{Store: w.another(), deaf: deaf}, nil))
	}
	w.create(m.services[0], 20, 4)
	t.Cleanup(func() { m.check(w) })
	return m
}

// oneBuyer plays one buyer.
func (m *market) oneBuyer(ctx context.Context, buyer int, random *rand.Rand) error {
	var mine []won
	for n := range 250 {
		id := fmt.Sprintf("%d-%d", buyer, n)
		at := random.IntN(len(m.services))
		switch dice := random.IntN(100); {
		case dice < 2:
			if err := m.restock(ctx, at, stock.Movement{Kind: stock.Restocked, SKU: sku, Ref: id, Quantity: random.Int64N(6) + 1}); err != nil {
				return err
			}
		case dice < 50 && len(mine) > 0:
			w := mine[random.IntN(len(mine))]
			if err := m.again(ctx, w, random.IntN(len(m.services))); err != nil {
				return err
			}
		default:
			o := stock.Order{OrderID: id, BuyerID: "b", Quantity: random.Int64N(3) + 1}
			_, created, err := m.services[at].Deduct(ctx, sku, o)
			m.told.add(o, created, err)
			if err == nil {
				mine = append(mine, won{o, at})
			}
		}
	}
	return nil
}

func (m *market) restock(ctx context.Context, at int, r stock.Movement) error {
	m.mu.Lock()
	m.restocking++
	m.mu.Unlock()
	_, err := m.services[at].Move(ctx, r)
	m.restocks.Add(1)
	m.mu.Lock()
	m.restocking--
	m.restored = time.Now()
	m.mu.Unlock()
	return err
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
	d, created, err := m.services[at].Deduct(ctx, sku, w.order)
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
func (m *market) clear(t *testing.T) {
	t.Helper()
	pace := time.Tick(time.Millisecond)
	for n, left := 0, true; left; <-pace {
		left = m.unheard(time.Now())
		for _, s := range m.services {
			n++
			o := stock.Order{OrderID: fmt.Sprint("last-", n), Quantity: 1}
			_, created, err := s.Deduct(t.Context(), sku, o)
			m.told.add(o, created, err)
			left = left || created
		}
	}
}

// check compares the rows with the answers.
func (m *market) check(w *world) {
	w.Helper()
	if err := errors.Join(m.told.errors...); err != nil {
		w.Error(err)
	}
	if b := w.audit(); b.Available != 0 || b.Committed != m.told.units {
		w.Errorf("the rows hold %d units and sold %d, buyers were told of %d", b.Available, b.Committed, m.told.units)
	}
}
