package tail

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"time"

	"golang.org/x/sync/errgroup"

	"inventory/internal/api/client"
	"inventory/internal/stock"
)

const (
	// part is how much of its stock a SKU has left in its tail: a hundredth.
	part = 100
	// portion is how much of a segment one order takes at most before the tail: a twentieth. Where segments are many and small it
	// is a thousandth of all, up to half a segment, or else it would take too long.
	portion, portionOfAll, portionMost = 20, 1000, 2
	// callers sell until the tail: more would be done before anybody had seen who holds the locks.
	callers = 4
	// patience is how long a request is sent again for want of a final answer.
	patience = 20 * time.Second
)

// portions are the orders that bring a SKU to its tail. They are of any size, up to what a segment has in the mean, so what is
// left in each segment is what the next order did not fit into: some are nearly empty then, and some are not.
func portions(random *rand.Rand, units, tail, segments int64) (all []int64) {
	largest := largestPortion(units, segments)
	for left := units; left > tail; {
		q := 1 + random.Int64N(max(1, min(largest, left/segments)))
		q = min(q, left-tail)
		all = append(all, q)
		left -= q
	}
	return all
}

func largestPortion(units, segments int64) int64 {
	segment := units / segments
	return max(1, min(max(segment/portion, units/portionOfAll), segment/portionMost, stock.MaxQuantity))
}

// fill brings a SKU to its tail. The processes sell one after the other, each alone, so whoever is seen at the locks is the
// one that sells: that is how their names become known.
func (s *shop) fill(ctx context.Context, sku string, all fleet, random *rand.Rand) error {
	orders := portions(random, s.Stock, s.Stock/part, int64(s.Segments))
	known := map[string]bool{}
	for i, p := range all {
		from, to := i*len(orders)/len(all), (i+1)*len(orders)/len(all)
		names, err := s.sellAlone(ctx, sku, p, from, orders[from:to])
		if err != nil {
			return err
		}
		for name := range names {
			if !known[name] { // or else a lock of the one before, that was not given back yet
				known[name], p.names[name] = true, true
			}
		}
		if len(p.names) == 0 && !s.witness.idle() {
			return errors.New("a process that sold was never seen to hold a lock")
		}
	}
	return nil
}

// sellAlone has one process sell orders, and returns who held locks meanwhile.
func (s *shop) sellAlone(ctx context.Context, sku string, p *process, first int, orders []int64) (names map[string]bool, err error) {
	buyer, err := client.NewFleet([]string{p.URL}, callers, patience)
	if err != nil {
		return nil, err
	}
	defer buyer.Close()
	done := make(chan struct{})
	both, ctx := errgroup.WithContext(ctx)
	if !s.witness.idle() {
		both.Go(func() (err error) { names, err = s.witness.seen(ctx, sku, s.Segments, done); return err })
	}
	both.Go(func() error {
		defer close(done)
		selling, ctx := errgroup.WithContext(ctx)
		selling.SetLimit(callers)
		for i, quantity := range orders {
			selling.Go(func() error {
				answer, err := buyer.Deduct(ctx, sku, client.NewDeduction{OrderID: "before-" + strconv.Itoa(first+i), Quantity: quantity})
				if err == nil {
					err = answer.Err()
				}
				if err != nil {
					return fmt.Errorf("sell until the tail: %w", err)
				}
				return nil
			})
		}
		return selling.Wait()
	})
	return names, both.Wait()
}
