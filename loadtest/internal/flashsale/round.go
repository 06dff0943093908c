package flashsale

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/dustin/go-humanize"

	"inventory/internal/stock"
	"inventory/loadtest/internal/openloop"
)

// round sells one SKU.
type round struct {
	number  int // from 0
	sku     string
	at      []time.Duration
	orders  *openloop.Orders
	sum     string        // of the stream
	opening time.Duration // when the sale opens, since the start
	start   time.Time

	result  openloop.Result
	samples []sample
	balance stock.Balance
	account account
}

// newRound plans a round: a pure function of the configuration and its number.
func (s *sale) newRound(n int) *round {
	seed := openloop.SeedOf(s.Seed, fmt.Sprintf("round %d", n+1))
	r := &round{number: n, sku: skuOf(s.Seed, n), opening: opening(s.Phases)}
	r.at = openloop.Times(seed, s.Spacing, s.Phases)
	all := spans(s.Phases)
	r.orders = openloop.NewOrders(openloop.OrdersConfig{
		Seed: seed, SKU: r.sku, Least: s.Least, Most: s.Most, Buyers: s.Buyers,
		Retries: func(i int) float64 { return retries(nameAt(all, r.at[i])) },
	}, len(r.at))
	r.sum = openloop.Sum(r.at, r.orders)
	return r
}

// putUp creates the SKU of a round, whose sale opens when the trickle is over.
func (s *sale) putUp(ctx context.Context, r *round) error {
	r.start = time.Now().Add(lead)
	var opens time.Time
	if r.opening > 0 {
		opens = r.start.Add(r.opening).UTC().Truncate(time.Microsecond) // as the service keeps it
	}
	return s.create(ctx, r.sku, opens)
}

// sell sends the requests of a round, and watches the stock and what is heard meanwhile.
func (s *sale) sell(ctx context.Context, r *round) {
	heard := openloop.NewLive(r.at)
	watching, stop := context.WithCancel(ctx)
	var watchers sync.WaitGroup
	watchers.Go(func() { r.samples = s.watchStock(watching, r) })
	watchers.Go(func() { s.tell(watching, r, heard) })
	r.result = s.sender.Run(ctx, openloop.Load{Start: r.start, At: r.at, Stream: r.orders, Heard: heard.Heard})
	stop()
	watchers.Wait()
}

// tell shows how a round gets on, each second.
func (s *sale) tell(ctx context.Context, r *round, heard *openloop.Live) {
	all := spans(s.Phases)
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		counts, p99 := heard.Take()
		s.live.Tell(time.Since(s.begun), fmt.Sprintf("round %d/%d, %s: %s/s, accepted %s/s, p99 %.3g ms",
			r.number+1, s.Rounds, nameAt(all, time.Since(r.start)), humanize.Comma(counts.Answered()),
			humanize.Comma(counts[openloop.Accepted]), milliseconds(p99)))
	}
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
