package flashsale

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	"inventory/internal/api/client"
	"inventory/internal/progress"
	"inventory/loadtest/internal/gauges"
	"inventory/loadtest/internal/openloop"
	"inventory/loadtest/internal/report"
	"inventory/loadtest/internal/servers"
	"inventory/loadtest/internal/target"
)

// Config says what is sold, and who comes when.
type Config struct {
	Phases        []openloop.Phase
	Spacing       openloop.Spacing
	Seed          uint64
	Stock         int64
	Segments      int
	Least, Most   int64 // units of an order
	Buyers        int   // that orders are drawn from; 0: each order has one of its own
	PerBuyerLimit int64 // 0: none
	Rounds        int
	Connections   int
	Key           string    // API key of the scope admin; "": none is shown
	Progress      io.Writer // where a person watches
}

// Load is how many requests all rounds expect to send.
func (c Config) Load() float64 { return openloop.Expected(c.Phases) * float64(c.Rounds) }

const (
	// patience is how long a request of preparation is sent again.
	patience = 10 * time.Second
	// lead is how long before its first request a round is prepared: the instant at which the sale opens must be known
	// when the SKU is created.
	lead = 500 * time.Millisecond
	// warmUp is how long the service is sent orders before the first round, and warmUpRate at how many a second at most.
	warmUp     = time.Second
	warmUpRate = 2000.
	warmSKU    = "flash-warm-"
	// gaugeEvery is how often the machine and the servers are looked at meanwhile.
	gaugeEvery = 250 * time.Millisecond
)

// sale is a run.
type sale struct {
	Config
	to        *target.Target
	sender    *openloop.Sender
	fleet     *client.Fleet
	live      *progress.Live
	started   time.Time
	begun     time.Time // of the first round
	rounds    []*round
	gauges    gauges.Readings
	unaudited error // why the rows could not be read
}

// Run plays the rounds against a target, audits, and reports. What ends it early, a ctx that is over among it, is an error
// beside the report of what was measured until then; where there is nothing to report the document is the zero one.
func Run(ctx context.Context, c Config, to *target.Target) (report.Document, error) {
	s := &sale{Config: c, to: to, started: time.Now()}
	defer s.close()
	stopped := s.open(ctx)
	if stopped == nil {
		stopped = s.play(ctx)
	}
	if ctx.Err() != nil {
		stopped = fmt.Errorf("the sale was stopped: %w", context.Cause(ctx))
	} else if stopped != nil && len(s.rounds) == 0 {
		return report.Document{}, stopped
	}
	ctx = context.WithoutCancel(ctx) // what has been sold is audited whatever the reason to stop
	s.unaudited = s.audit(ctx)
	d, err := s.document(ctx, stopped != nil)
	return d, errors.Join(stopped, s.wrong(), err)
}

// open makes sure that the service answers and that nobody has bought with this seed.
func (s *sale) open(ctx context.Context) (err error) {
	if s.fleet, err = client.NewFleet(s.to.URLs, 2, patience, client.WithKey(s.Key)); err != nil {
		return err
	}
	for n := range s.Rounds {
		if err := s.unsold(ctx, skuOf(s.Seed, n)); err != nil {
			return err
		}
	}
	s.sender, err = openloop.Open(ctx, openloop.Config{URLs: s.to.URLs, Key: s.Key, Connections: s.Connections})
	return err
}

func (s *sale) close() {
	if s.sender != nil {
		s.sender.Close()
	}
	if s.fleet != nil {
		s.fleet.Close()
	}
}

// unsold makes sure that there is no SKU of this name yet.
func (s *sale) unsold(ctx context.Context, sku string) error {
	answer, err := s.fleet.ReadSKU(ctx, sku)
	switch {
	case err != nil:
		return fmt.Errorf("read SKU %s: %w", sku, target.WithoutURL(err))
	case answer.OK():
		return fmt.Errorf("seed %d was sold on this database before: SKU %s is there; choose another --seed", s.Seed, sku)
	case answer.Problem != nil && answer.Problem.Code == client.UnknownSku:
		return nil
	}
	return fmt.Errorf("read SKU %s: %w", sku, answer.Err())
}

// skuOf is the name of a round's SKU, which its requests repeat.
func skuOf(seed uint64, round int) string {
	return fmt.Sprintf("flash-%s-%d", strconv.FormatUint(seed, 36), round+1)
}

// play warms up and plays the rounds. It returns why it stopped early.
func (s *sale) play(ctx context.Context) error {
	if err := s.warm(ctx); err != nil {
		return err
	}
	sources := gauges.Of(s.to)
	sources.Settle = gauges.PostgresSettles
	watched := gauges.Start(ctx, sources, gaugeEvery)
	defer func() { s.gauges = watched.Stop() }()
	s.begun = time.Now()
	s.live = progress.NewLive(s.Progress, time.Duration(s.Rounds)*(lead+openloop.Length(s.Phases)))
	defer s.live.Finish()
	for n := range s.Rounds {
		r := s.newRound(n)
		if err := s.putUp(ctx, r); err != nil {
			return err
		}
		s.rounds = append(s.rounds, r)
		s.sell(ctx, r)
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	return nil
}

// warm sells a SKU that nobody counts, so that connections are there and programs have run before the clock starts.
func (s *sale) warm(ctx context.Context) error {
	sku := servers.NewName(warmSKU)
	if err := s.create(ctx, sku, time.Time{}); err != nil {
		return err
	}
	rate := min(warmUpRate, openloop.Expected(s.Phases))
	at := openloop.Times(s.Seed, s.Spacing, []openloop.Phase{{From: 0, To: rate, Length: warmUp}})
	orders := openloop.NewOrders(openloop.OrdersConfig{Seed: s.Seed, SKU: sku, Least: s.Least, Most: s.Most}, len(at))
	s.sender.Run(ctx, openloop.Load{Start: time.Now(), At: at, Stream: orders})
	return ctx.Err()
}

// create puts a SKU up for sale, from an instant on where that is not zero.
func (s *sale) create(ctx context.Context, sku string, opens time.Time) error {
	n := client.NewSKU{Stock: s.Stock, Segments: &s.Segments}
	if !opens.IsZero() {
		n.SaleStartsAt = &opens
	}
	if s.PerBuyerLimit > 0 {
		n.PerBuyerLimit = &s.PerBuyerLimit
	}
	answer, err := s.fleet.CreateSKU(ctx, sku, n)
	if err == nil {
		err = answer.Err()
	}
	if err != nil {
		return fmt.Errorf("put SKU %s up for sale: %w", sku, target.WithoutURL(err))
	}
	return nil
}
