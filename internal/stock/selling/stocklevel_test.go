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

	"inventory/internal/busytest"
	"inventory/internal/events"
	"inventory/internal/stock"
	"inventory/internal/stock/selling"
)

// told is what a listener was told of one SKU: sold_out and back_in_stock, in their order.
type told struct {
	*events.Subscription
	sku  string
	said []stock.EventKind
}

func (l *told) last() stock.EventKind {
	for _, e := range l.Take() {
		if e.SKU == l.sku && (e.Kind == stock.EventSoldOut || e.Kind == stock.EventBackInStock) {
			l.said = append(l.said, e.Kind)
		}
	}
	if len(l.said) == 0 {
		return ""
	}
	return l.said[len(l.said)-1]
}

// telling is a service whose events go to a hub of its own, which hears the others through Redis.
func (w *world) telling() (*selling.Service, *events.Hub) {
	w.t.Helper()
	hub := events.NewHub(events.Config{Redis: w.client(), Channel: "levels"})
	w.t.Cleanup(func() {
		if err := hub.Close(context.WithoutCancel(w.t.Context())); err != nil {
			w.t.Error(err)
		}
	})
	return serve(w.t, selling.Config{Store: w.store, Events: hub}), hub
}

// TestListenersKnowWhetherThereAreUnits plays all kinds of writes in two processes. Once all is quiet, the last word that each
// listener got agrees with the rows, and no two equal words followed each other.
func TestListenersKnowWhetherThereAreUnits(t *testing.T) {
	t.Parallel()
	virtually(t, silent, func(t *testing.T, w *world) {
		seed := rand.Uint64()
		t.Logf("seed %d", seed)
		var services []*selling.Service
		var listeners []*told
		skus := []string{"a", "b"}
		for range 2 {
			s, hub := w.telling()
			services = append(services, s)
			for _, sku := range skus {
				subscription, err := hub.Subscribe(events.Caller{}, sku)
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(subscription.Close)
				listeners = append(listeners, &told{Subscription: subscription, sku: sku})
			}
		}
		for _, sku := range skus {
			if _, _, err := services[0].CreateSKU(t.Context(), stock.NewSKU{SKU: sku, Stock: 5, Segments: 2}); err != nil {
				t.Fatal(err)
			}
		}
		for round := range 6 {
			var writers sync.WaitGroup
			for n := range 4 {
				p := &shopper{w: w, Rand: rand.New(rand.NewPCG(seed, uint64(10*round+n))), s: services[n%2], prefix: fmt.Sprint(round, "-", n)} //nolint:gosec // it is to be played again
				writers.Go(func() {
					for step := range 25 {
						time.Sleep(time.Duration(p.IntN(20)) * time.Millisecond) // between writes, not for a result
						p.step(skus[p.IntN(2)], step)
					}
				})
			}
			writers.Wait()
			busytest.Soon(t, "the last word of each listener agrees with the rows", func() bool { return w.agree(listeners) })
		}
		for _, l := range listeners {
			for i := 1; i < len(l.said); i++ {
				if l.said[i] == l.said[i-1] {
					t.Errorf("a listener of %s was told %v", l.sku, l.said)
				}
			}
		}
		if said := listeners[0].said; !slices.Contains(said, stock.EventSoldOut) || !slices.Contains(said, stock.EventBackInStock) {
			t.Errorf("the history shows nothing: %v", said)
		}
	})
}

// agree reports whether the last word of each listener agrees with the rows.
func (w *world) agree(listeners []*told) bool {
	w.t.Helper()
	for _, l := range listeners {
		views, err := w.store.Views(w.t.Context(), l.sku)
		if err != nil {
			w.t.Fatal(err)
		}
		if left := stock.Sum(views[l.sku].Segments); (left == 0) != (l.last() == stock.EventSoldOut) {
			return false
		}
	}
	return true
}

// shopper writes in all ways that there are.
type shopper struct {
	w *world
	*rand.Rand
	s      *selling.Service
	prefix string
	orders []string // with their SKUs
}

func (p *shopper) step(sku string, step int) {
	ctx, id := p.w.t.Context(), fmt.Sprint(p.prefix, "-", step)
	settle := func(verb stock.Verb) {
		if len(p.orders) > 0 {
			of, order, _ := strings.Cut(p.orders[p.IntN(len(p.orders))], " ")
			_, _ = p.s.Settle(ctx, of, stock.SettleRequest{Verb: verb, OrderID: order}, false) // a refusal is an answer
		}
	}
	move := func(kind stock.MovementKind, quantity int64, segments int) {
		_, _ = p.s.Move(ctx, stock.Movement{SKU: sku, Ref: id, Kind: kind, Quantity: quantity, Segments: segments, Reason: "r"})
	}
	switch n := p.IntN(18); {
	case n < 7:
		o := stock.Order{OrderID: id, Quantity: 1 + p.Int64N(3)}
		if n%2 == 0 {
			o.ReserveFor = time.Second + time.Duration(p.IntN(1000))*time.Millisecond
		}
		if _, _, err := p.s.Deduct(ctx, sku, o); err == nil {
			p.orders = append(p.orders, sku+" "+id)
		}
	case n < 9:
		_, _, _ = p.s.Order(ctx, stock.MultiOrder{OrderID: id, Lines: []stock.Line{{SKU: "a", Quantity: 1}, {SKU: "b", Quantity: 1}}})
	case n < 11:
		settle(stock.Cancel)
	case n < 13:
		settle(stock.Return)
	case n < 14:
		settle(stock.Commit)
	case n < 16:
		move(stock.Adjusted, -1-p.Int64N(3), 0)
	case n < 17:
		move(stock.Resegmented, 0, 1+p.IntN(4))
	default:
		move(stock.Restocked, 1+p.Int64N(2), 0)
	}
}
