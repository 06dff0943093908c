package selling_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"inventory/internal/stock"
	"inventory/internal/stock/selling"
)

// TestChangesMeet: changes of an order from three processes meet each other, a hand-over, commits of all and of some lines, cancels, returns, late
// payments, extensions, sweeps and the order's end, also under a limit over all SKUs. Afterwards all of its lines are alike, every unit is where
// its line says, and each change that is sent again is answered as before.
func TestChangesMeet(t *testing.T) {
	t.Parallel()
	for name, terms := range map[string]stock.Terms{"without a limit": {}, "in a group": {PerBuyerLimit: 6, LimitGroup: "group"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			eachStore(t, func(t *testing.T, w *world) {
				w.clock = newClock()
				processes := [3]*selling.Service{w.start(nil), w.startOn(w.another(), nil), w.startOn(w.another(), nil)}
				for i := range 3 {
					if _, _, err := processes[0].CreateSKU(t.Context(), stock.NewSKU{SKU: shopSKU(i), Stock: 10, Segments: 2, Terms: terms}); err != nil {
						t.Fatal(err)
					}
				}
				seed := rand.Uint64()
				t.Logf("seed %d", seed)
				r := rand.New(rand.NewPCG(seed, 0)) //nolint:gosec // it is to be played again
				for n := range *meetRounds {
					c := changeMeeting{world: w, processes: processes, id: fmt.Sprintf("o-%d", n)}
					c.meet(r, n%2 == 1)
				}
			})
		})
	}
}

type changeMeeting struct {
	*world
	processes [3]*selling.Service
	id        string
}

// lines are so many units of the first SKUs.
func lines(units ...int64) (all []stock.Line) {
	for i, n := range units {
		if n > 0 {
			all = append(all, stock.Line{SKU: shopSKU(i), Quantity: n})
		}
	}
	return all
}

// meet lets requests meet at an order, before its end or after it.
func (c changeMeeting) meet(r *rand.Rand, late bool) {
	c.t.Helper()
	ctx := c.t.Context()
	if _, _, err := c.processes[0].Order(ctx, stock.MultiOrder{OrderID: c.id, BuyerID: "ann", ReserveFor: time.Minute, Lines: lines(2, 2)}); err != nil {
		c.t.Fatal(err)
	}
	if late {
		c.clock.advance(time.Minute)
	}
	var all []func(context.Context, *selling.Service) (stock.PlacedOrder, error)
	settles := func(w stock.SettleRequest, late bool) {
		w.OrderID = c.id
		all = append(all, func(ctx context.Context, s *selling.Service) (stock.PlacedOrder, error) {
			return s.SettleOrder(ctx, w, late)
		})
	}
	changes := map[string][]stock.Line{"a": lines(1, 0, 2), "b": lines(0, 3), "c": lines(2, 2, 2)}
	for ref := range changes {
		for range 2 {
			all = append(all, c.change(ref, changes[ref]))
		}
	}
	all = append(all, func(ctx context.Context, s *selling.Service) (there stock.PlacedOrder, err error) {
		there, _, err = s.ChangeOrder(ctx, stock.OrderChange{OrderID: c.id, Ref: "to bob", Lines: lines(1, 1), NewBuyer: "bob"})
		return there, err
	}, func(ctx context.Context, _ *selling.Service) (there stock.PlacedOrder, err error) {
		for i := range 3 {
			_, err = c.store.Expire(ctx, shopSKU(i), c.clock.now())
		}
		return there, err
	})
	settles(stock.SettleRequest{}, r.IntN(2) == 0)
	settles(stock.SettleRequest{}, true)
	settles(stock.SettleRequest{Verb: stock.Cancel}, false)
	settles(stock.SettleRequest{Verb: stock.Return}, false)
	settles(stock.SettleRequest{Verb: stock.Extend, Ref: "longer", ExtendFor: time.Hour}, false)
	all = append(all, func(ctx context.Context, s *selling.Service) (stock.PlacedOrder, error) {
		return s.CommitLines(ctx, stock.SettleRequest{OrderID: c.id}, lines(0, 1), false)
	})
	r.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	all = all[:9]
	var wg sync.WaitGroup
	for i, call := range all {
		wg.Go(func() {
			if err := patiently(c.t, func() error { _, err := call(ctx, c.processes[i%3]); return err }); stock.CodeOf(err) == stock.CodeUnavailable {
				c.t.Errorf("%s: %v", c.id, err)
			}
		})
	}
	wg.Wait()
	c.isWhole()
	for ref := range changes { // what was made is a replay, and what was not is made or refused: none is made twice
		for range 2 {
			_ = patiently(c.t, func() error { _, err := c.change(ref, changes[ref])(ctx, c.processes[0]); return err })
		}
	}
	c.isWhole()
	for _, verb := range []stock.Verb{stock.Cancel, stock.Return} {
		_ = patiently(c.t, func() error {
			_, err := c.processes[1].SettleOrder(ctx, stock.SettleRequest{OrderID: c.id, Verb: verb}, false)
			return err
		})
	}
	for i := range 3 {
		if status, err := c.processes[0].SKU(ctx, shopSKU(i)); err != nil || status.Available != 10 {
			c.t.Fatalf("%s: %d units of %s are left, %v", c.id, status.Available, shopSKU(i), err)
		}
	}
}

func (c changeMeeting) change(ref string, lines []stock.Line) func(context.Context, *selling.Service) (stock.PlacedOrder, error) {
	return func(ctx context.Context, s *selling.Service) (stock.PlacedOrder, error) {
		there, _, err := s.ChangeOrder(ctx, stock.OrderChange{OrderID: c.id, Ref: ref, Lines: lines})
		return there, err
	}
}

// isWhole checks that the lines of the order are alike, and that the audit finds every unit.
func (c changeMeeting) isWhole() {
	c.t.Helper()
	there, err := c.processes[1].PlacedOrder(c.t.Context(), c.id, "")
	if err != nil {
		c.t.Fatal(err)
	}
	held := make(map[string]int64)
	for _, d := range there.Lines {
		if d.Status != there.Lines[0].Status {
			c.t.Fatalf("%s is a part: %+v", c.id, there.Lines)
		}
		if d.Status.Live() {
			held[d.SKU] = d.Quantity
		}
	}
	audit, err := c.processes[0].Audit(c.t.Context(), "")
	if err != nil || !audit.OK() {
		c.t.Fatalf("%s: the audit is %+v, %v", c.id, audit, err)
	}
	for i := range 3 {
		if status, err := c.processes[0].SKU(c.t.Context(), shopSKU(i)); err != nil || status.Available != 10-held[shopSKU(i)] {
			c.t.Fatalf("%s holds %v, and %d units of %s are left, %v", c.id, held, status.Available, shopSKU(i), err)
		}
	}
}
