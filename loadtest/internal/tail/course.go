package tail

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"inventory/internal/api/client"
	"inventory/internal/stock"
	"inventory/loadtest/internal/compare"
	"inventory/loadtest/internal/gauges"
	"inventory/loadtest/internal/openloop"
)

const (
	connections = 64 // to each process
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
	sku    string
	orders *wishes
	// result has the final outcomes. first are the replies of those that were asked again.
	result   openloop.Result
	first    map[int]openloop.Reply
	halfSold time.Duration // when half of the tail was; 0: never
	strike   *Strike       // nil: nobody was killed
	levels   []levels
	readings []gauges.Readings // of each process
}

// levels are what the segments held at a moment.
type levels struct {
	at       time.Duration
	segments []int64
}

func (l levels) sum() (sum int64) {
	for _, n := range l.segments {
		sum += n
	}
	return sum
}

// length is how long buyers come.
func (c Config) length() time.Duration {
	tail := float64(c.Stock / part)
	return time.Duration(headroom*tail/(c.Rate*meanQuantity)*float64(time.Second)) + afterlife
}

// load is when each of them comes.
func (c Config) load(seed uint64) []time.Duration {
	return openloop.Times(seed, openloop.Poisson, []openloop.Phase{{Name: "tail", From: c.Rate, To: c.Rate, Length: c.length()}})
}

// sell sells the tail of a SKU, and kills the victim when half of it is sold; nil is nobody.
func (s *shop) sell(ctx context.Context, sku string, all fleet, seed uint64, victim *process) (*course, error) {
	at := s.load(seed)
	c := &course{sku: sku, orders: newWishes(seed, sku, len(at))}
	sender, err := openloop.Open(ctx, openloop.Config{URLs: all.urls(nil), Connections: connections * len(all)})
	if err != nil {
		return nil, err
	}
	defer sender.Close()
	others, err := client.NewFleet(all.urls(victim), askers, patience)
	if err != nil {
		return nil, err
	}
	defer others.Close()
	samplers := s.sample(ctx, all)
	began := time.Now()
	again := newAgain(ctx, c.orders, sku, others, began)
	half := newMark(s.Stock / part / 2)
	selling, over := context.WithCancel(ctx)
	defer over()
	var beside errgroup.Group
	heard := openloop.NewLive(at)
	beside.Go(func() error { s.tell(selling, sku, heard); return nil })
	beside.Go(func() error { return s.glance(selling, c, began) })
	beside.Go(func() error { return s.atHalf(selling, c, half.reached, victim, began) })
	c.result = sender.Run(ctx, openloop.Load{Start: began, At: at, Stream: c.orders, Heard: func(i int, r openloop.Reply) {
		if r.Outcome == openloop.Accepted {
			half.add(c.orders.all[i].quantity)
		}
		again.heard(i, r)
		heard.Heard(i, r)
	}})
	again.wait()
	over()
	err = beside.Wait()
	for _, sampler := range samplers {
		c.readings = append(c.readings, sampler.Stop())
	}
	c.fold(again)
	return c, errors.Join(err, context.Cause(ctx))
}

// fold makes the last answers to those who asked again the outcomes.
func (c *course) fold(a *again) {
	c.first = a.first
	for i, r := range maps.All(a.finals) {
		c.result.Replies[i] = r
		c.result.Elapsed = max(c.result.Elapsed, r.Over)
	}
}

// sample watches each process by itself: one that dies leaves what it told until then.
func (s *shop) sample(ctx context.Context, all fleet) (samplers []*gauges.Sampler) {
	for _, p := range all {
		samplers = append(samplers, gauges.Start(ctx, gauges.Sources{ServiceMetricsURLs: []string{p.Admin + "/metrics"}}, gauge))
	}
	return samplers
}

// tell shows each second how the sale gets on, until ctx ends.
func (s *shop) tell(ctx context.Context, sku string, heard *openloop.Live) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		counts, p99 := heard.Take()
		s.live.Tell(time.Since(s.begun), fmt.Sprintf("%s: %d/s, accepted %d/s, p99 %.3g ms",
			sku, counts.Answered(), counts[openloop.Accepted], compare.Milliseconds(p99)))
	}
}

// glance looks at the segments again and again until ctx ends, and once more then.
func (s *shop) glance(ctx context.Context, c *course, began time.Time) error {
	ticker := time.NewTicker(glance)
	defer ticker.Stop()
	for over := false; ; {
		views, err := s.store.Views(context.WithoutCancel(ctx), c.sku)
		if err != nil {
			return fmt.Errorf("look at the segments: %w", err)
		}
		c.levels = append(c.levels, levels{time.Since(began), views[c.sku].Segments})
		if over {
			return nil
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			over = true
		}
	}
}

// atHalf kills the victim when half of the tail is sold. One that is not seen to hold a lock until ctx ends lives on.
func (s *shop) atHalf(ctx context.Context, c *course, half <-chan struct{}, victim *process, began time.Time) error {
	select {
	case <-half:
	case <-ctx.Done():
		return nil
	}
	c.halfSold = time.Since(began)
	if victim == nil {
		return nil
	}
	strike, err := s.witness.kill(ctx, c.sku, s.Segments, victim, began)
	if err != nil && ctx.Err() != nil && !victim.dead {
		return nil
	}
	c.strike = &strike
	return err
}

// mark tells when a number of units is reached.
type mark struct {
	left    atomic.Int64
	reached chan struct{}
}

func newMark(units int64) *mark {
	m := &mark{reached: make(chan struct{})}
	m.left.Store(units)
	return m
}

func (m *mark) add(units int64) {
	if left := m.left.Add(-units); left <= 0 && left+units > 0 {
		close(m.reached)
	}
}

// known tells what a SKU's segments hold now.
func (s *shop) known(ctx context.Context, sku string) (stock.View, error) {
	views, err := s.store.Views(ctx, sku)
	if err != nil {
		return stock.View{}, fmt.Errorf("look at the segments: %w", err)
	}
	return views[sku], nil
}
