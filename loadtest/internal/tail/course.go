package tail

import (
	"context"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"inventory/loadtest/internal/gauges"
	"inventory/loadtest/internal/history"
	"inventory/loadtest/internal/load"
)

// What buyers ask for: 1 to few units, and one in some of them for many.
const (
	few       = 5
	many      = 20
	manyEvery = 50
	// meanQuantity is what an order asks for in the mean.
	meanQuantity = (1.+few)/2*(1-1./manyEvery) + 1.*many/manyEvery
)

const (
	// headroom is by how much longer buyers come than the tail would last if all of them were served, and afterlife for how
	// long after that: those who come then are refused.
	headroom  = 1.3
	afterlife = 3 * time.Second
	// glance is how often segments are looked at, and gauge how often processes are asked for their metrics.
	glance = 100 * time.Millisecond
	gauge  = 200 * time.Millisecond
)

// course is how the sale of a tail went.
type course struct {
	sku      string
	result   *load.Result
	halfSold time.Duration // when half of the tail was; 0: never
	strike   *Strike       // nil: nobody was killed
	levels   []load.Stock
	readings []gauges.Readings // of each process
}

// length is how long buyers come.
func (c Config) length() time.Duration {
	tail := float64(c.Stock / part)
	return time.Duration(headroom*tail/(c.Rate*meanQuantity)*float64(time.Second)) + afterlife
}

// load is when each of them comes, and what he wants: a pure function of the seed.
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

// sell sells the tail of a SKU, and kills the victim when half of it is sold; nil is nobody.
func (t *Tail) sell(ctx context.Context, services *load.Services, sku string, all fleet, seed uint64, victim *process) (*course, error) {
	l := t.load(seed, sku)
	c := &course{sku: sku}
	var samplers []*gauges.Sampler
	for _, p := range all { // each by itself: one that dies leaves what it told until then
		samplers = append(samplers, gauges.Start(ctx, gauges.Sources{ServiceMetricsURLs: []string{p.AdminURL + "/metrics"}}, gauge))
	}
	var sold atomic.Int64
	half, halfSold := t.Stock/part/2, make(chan struct{})
	selling, over := context.WithCancel(ctx)
	defer over()
	var beside errgroup.Group
	l.Start = time.Now()
	from := 0
	if victim != nil {
		from = (victim.number + 1) % sellers
	}
	beside.Go(func() error { c.levels = services.WatchStock(selling, from, sku, l.Start, glance); return nil })
	beside.Go(func() error { return t.atHalf(selling, c, halfSold, victim, l.Start) })
	l.Again = func(o *history.Operation) load.Persistence { return all.others(victim, o.Attempts[0].Process) }
	l.Heard = func(i int, r load.Reply) {
		if r.Outcome != load.Accepted {
			return
		}
		units := l.Operations[i].Lines[0].Quantity
		if now := sold.Add(units); now >= half && now-units < half {
			close(halfSold)
		}
	}
	c.result = services.Show(ctx, l, t.live, t.begun, func() string { return sku + ": " })
	over()
	err := beside.Wait()
	for _, sampler := range samplers {
		c.readings = append(c.readings, sampler.Stop())
	}
	return c, err
}

// others is how somebody asks on who got no answer from a process: the next one, but never the victim; nil is nobody.
func (all fleet) others(victim *process, asked int) load.Persistence {
	next := func(before int) int {
		n := (before + 1) % len(all)
		if victim != nil && n == victim.number {
			n = (n + 1) % len(all)
		}
		return n
	}
	return load.Persistence{First: next(asked), Next: next}
}

// atHalf kills the victim when half of the tail is sold. One that is not seen to hold a lock until ctx ends lives on.
func (t *Tail) atHalf(ctx context.Context, c *course, half <-chan struct{}, victim *process, began time.Time) error {
	select {
	case <-half:
	case <-ctx.Done():
		return nil
	}
	c.halfSold = time.Since(began)
	if victim == nil {
		return nil
	}
	strike, err := t.witness.strike(ctx, c.sku, t.Segments, victim, began)
	if err != nil && ctx.Err() != nil && !victim.dead {
		return nil
	}
	c.strike = &strike
	return err
}
