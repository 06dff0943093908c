package tail

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"inventory/internal/api/client"
	"inventory/loadtest/internal/gauges"
	"inventory/loadtest/internal/history"
	"inventory/loadtest/internal/load"
)

// Quantities of orders: 1 to few units, and many in one order of manyEvery.
const (
	few       = 5
	many      = 20
	manyEvery = 50
	// meanQuantity is the mean quantity of an order.
	meanQuantity = (1.+few)/2*(1-1./manyEvery) + 1.*many/manyEvery
)

const (
	// headroom is how many times as long buyers come as the tail would last if each got what it wants; afterlife is added to
	// that, for buyers that come too late.
	headroom  = 1.3
	afterlife = 3 * time.Second
	// glance is how often the segments are read, and gauge how often the metrics of the processes are.
	glance = 100 * time.Millisecond
	gauge  = 200 * time.Millisecond
)

// length is how long buyers come.
func (c Config) length() time.Duration {
	tail := float64(c.Stock / part)
	return time.Duration(headroom*tail/(c.Rate*meanQuantity)*float64(time.Second)) + afterlife
}

// load plans the orders: a pure function of the configuration and its arguments.
func (c Config) load(seed uint64, sku string) load.Load {
	l := load.Load{At: load.Times(seed, load.Poisson, []load.Phase{{Name: "tail", From: c.Rate, To: c.Rate, Length: c.length()}})}
	random := load.NewRandom(seed, "wishes")
	for range l.At {
		quantity := 1 + random.Int64N(few)
		if random.IntN(manyEvery) == 0 {
			quantity = many
		}
		l.Operations = append(l.Operations, history.Operation{
			Kind: history.Deduct, ID: load.NewID(random), Lines: []history.Line{{SKU: sku, Quantity: quantity}},
		})
	}
	return l
}

// round sells a SKU to its end. Its orders are the same whether a holder is killed or not.
func (t *Tail) round(ctx context.Context, number int, killed bool) (r *Round, err error) {
	r = &Round{Number: number + 1, Killed: killed}
	r.sku = fmt.Sprintf("tail-%d-%s", r.Number, kind(killed))
	seed := load.SeedOf(t.Config.Seed, fmt.Sprintf("round %d", r.Number))
	all, err := t.start(ctx)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, all.end()) }()
	services, err := all.services()
	if err != nil {
		return r, err
	}
	defer services.Close()
	if err := services.Create(ctx, r.sku, client.NewSKU{Stock: t.Stock, Segments: &t.Segments}); err != nil {
		return r, err
	}
	t.Promise.Stocks[r.sku] = history.Stock{Units: t.Stock}
	before, began := portions(load.NewRandom(seed, "fill"), r.sku, t.Stock, t.Stock/part, int64(t.Segments)), time.Now()
	err = t.fill(ctx, services, r.sku, all, before)
	t.Parts = append(t.Parts, load.Part{Name: r.name() + ", before the tail", Result: load.Closed(began, before)})
	if err != nil {
		return r, err
	}
	begins, err := services.Stock(0, r.sku, time.Now())
	if err != nil {
		return r, err
	}
	r.Segments = begins.Segments
	var victim *process
	if killed {
		victim = all[number%len(all)]
	}
	err = t.sell(ctx, services, r, all, seed, victim)
	t.Parts = append(t.Parts, load.Part{Name: r.name(), Result: r.result})
	return r, err
}

// sell sells the tail, and kills the victim when half of it is sold; a nil victim is none.
func (t *Tail) sell(ctx context.Context, services *load.Services, r *Round, all fleet, seed uint64, victim *process) error {
	var samplers []*gauges.Sampler
	for _, p := range all { // one for each: the readings of a process that dies remain
		samplers = append(samplers, gauges.Start(ctx, gauges.Sources{ServiceMetricsURLs: []string{p.AdminURL + "/metrics"}}, gauge))
	}
	l, from := t.load(seed, r.sku), 0
	l.Start = time.Now()
	if victim != nil {
		from = (victim.number + 1) % sellers
	}
	var sold atomic.Int64
	half, halfSold := t.Stock/part/2, make(chan struct{})
	l.Again = func(o *history.Operation) load.Persistence { return all.others(victim, o.Attempts[0].Process) }
	l.OnReply = func(i int, reply load.Reply) {
		if reply.Outcome != load.Accepted {
			return
		}
		units := l.Operations[i].Lines[0].Quantity
		if now := sold.Add(units); now >= half && now-units < half {
			close(halfSold)
		}
	}
	selling, over := context.WithCancel(ctx)
	defer over()
	var meanwhile errgroup.Group
	meanwhile.Go(func() error { r.levels = services.WatchStock(selling, from, r.sku, l.Start, glance); return nil })
	meanwhile.Go(func() error { return t.atHalf(selling, r, halfSold, victim, l.Start) })
	r.result = services.Show(ctx, l, t.live, t.begun, func() string { return r.sku + ": " })
	over()
	err := meanwhile.Wait()
	for _, sampler := range samplers {
		r.readings = append(r.readings, sampler.Stop())
	}
	return err
}

// atHalf kills the victim when half of the tail is sold. A victim that is not seen with a lock until ctx ends lives on.
func (t *Tail) atHalf(ctx context.Context, r *Round, half <-chan struct{}, victim *process, began time.Time) error {
	select {
	case <-half:
	case <-ctx.Done():
		return nil
	}
	r.HalfSold = time.Since(began).Seconds()
	if victim == nil {
		return nil
	}
	strike, err := t.witness.strike(ctx, r.sku, victim, began)
	if err != nil && ctx.Err() != nil && !victim.dead {
		return nil
	}
	r.Strike = &strike
	return err
}
