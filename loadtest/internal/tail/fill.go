package tail

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"

	"golang.org/x/sync/errgroup"

	"inventory/internal/stock"
	"inventory/loadtest/internal/history"
	"inventory/loadtest/internal/load"
)

const (
	// part is how much of its stock a SKU has left in its tail: a hundredth.
	part = 100
	// portion is how much of a segment one order takes at most before the tail: a twentieth. Where segments are many and small it
	// is a thousandth of all, up to half a segment, or else it would take too long.
	portion, portionOfAll, portionMost = 20, 1000, 2
	// callers sell until the tail: more would be done before anybody had seen who holds the locks.
	callers = 4
)

// portions are the orders that bring a SKU to its tail. They are of any size, up to what a segment has in the mean, so what is
// left in each segment is what the next order did not fit into: some are nearly empty then, and some are not.
func portions(random *rand.Rand, sku string, units, tail, segments int64) (all []history.Operation) {
	segment := units / segments
	largest := max(1, min(max(segment/portion, units/portionOfAll), segment/portionMost, stock.MaxQuantity))
	for left := units; left > tail; {
		q := min(1+random.Int64N(max(1, min(largest, left/segments))), left-tail)
		all = append(all, history.Operation{
			Kind: history.Deduct, ID: "before-" + strconv.Itoa(len(all)), Lines: []history.Line{{SKU: sku, Quantity: q}},
		})
		left -= q
	}
	return all
}

// fill brings a SKU to its tail. The processes sell one after the other, each alone, so whoever is seen at the locks is the
// one that sells: that is how their names become known.
func (t *Tail) fill(ctx context.Context, services *load.Services, sku string, all fleet, orders []history.Operation) error {
	known := map[string]bool{}
	for i, p := range all {
		from, to := i*len(orders)/len(all), (i+1)*len(orders)/len(all)
		names, err := t.sellAlone(ctx, services, sku, p, orders[from:to])
		if err != nil {
			return err
		}
		for name := range names {
			if !known[name] { // or else a lock of the one before, that was not given back yet
				known[name], p.names[name] = true, true
			}
		}
		if len(p.names) == 0 && !t.witness.idle() {
			return errors.New("a process that sold was never seen to hold a lock")
		}
	}
	return nil
}

// sellAlone has one process sell orders, and returns who held locks meanwhile.
func (t *Tail) sellAlone(ctx context.Context, services *load.Services, sku string, p *process, orders []history.Operation) (names map[string]bool, err error) {
	done := make(chan struct{})
	both, ctx := errgroup.WithContext(ctx)
	if !t.witness.idle() {
		both.Go(func() (err error) { names, err = t.witness.seen(ctx, sku, t.Segments, done); return err })
	}
	both.Go(func() error {
		defer close(done)
		selling, ctx := errgroup.WithContext(ctx)
		selling.SetLimit(callers)
		alone := load.Persistence{First: p.number, Next: func(before int) int { return before }}
		for i := range orders {
			selling.Go(func() error {
				if err := services.Do(ctx, &orders[i], alone); err != nil {
					return fmt.Errorf("sell until the tail: %w", err)
				}
				return nil
			})
		}
		return selling.Wait()
	})
	return names, both.Wait()
}
