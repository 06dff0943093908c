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
	// part is how many times the tail the stock is.
	part = 100
	// One order takes at most a twentieth of a segment before the tail. Where segments are small it is a thousandth of the stock,
	// but at most half a segment: smaller orders would take too long.
	portion, portionOfAll, portionMost = 20, 1000, 2
	// callers sell until the tail. With more the sale would end before the holders of the locks are seen.
	callers = 4
)

// portions are the orders that bring a SKU to its tail. They have different sizes, so segments are differently full then.
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

// fill brings a SKU to its tail. The processes sell one after the other, so the holder that is seen at the locks is the process
// that sells: its name becomes known.
func (t *Tail) fill(ctx context.Context, services *load.Services, sku string, all fleet, orders []history.Operation) error {
	known := map[string]bool{}
	for i, p := range all {
		names, err := t.sellAlone(ctx, services, sku, p, orders[i*len(orders)/len(all):(i+1)*len(orders)/len(all)])
		if err != nil {
			return err
		}
		for name := range names {
			if !known[name] { // otherwise a lock that the process before has not released yet
				known[name], p.names[name] = true, true
			}
		}
		if len(p.names) == 0 && !t.witness.idle() {
			return errors.New("a process that sold was never seen to hold a lock")
		}
	}
	return nil
}

// sellAlone sells orders by one process, and returns the holders of locks meanwhile.
func (t *Tail) sellAlone(ctx context.Context, services *load.Services, sku string, p *process, orders []history.Operation) (names map[string]bool, err error) {
	done := make(chan struct{})
	both, ctx := errgroup.WithContext(ctx)
	if !t.witness.idle() {
		both.Go(func() (err error) { names, err = t.witness.holders(ctx, sku, done); return err })
	}
	both.Go(func() error {
		defer close(done)
		selling, ctx := errgroup.WithContext(ctx)
		selling.SetLimit(callers)
		alone := load.Persistence{First: p.number, Next: func(before int) int { return before }}
		for i := range orders {
			selling.Go(func() error { return services.Do(ctx, &orders[i], alone) })
		}
		if err := selling.Wait(); err != nil {
			return fmt.Errorf("sell until the tail: %w", err)
		}
		return nil
	})
	return names, both.Wait()
}
