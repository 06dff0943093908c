package capacity

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"inventory/internal/stock"
	"inventory/loadtest/internal/compare"
	"inventory/loadtest/internal/crowd"
	"inventory/loadtest/internal/experiment"
	"inventory/loadtest/internal/gauges"
	"inventory/loadtest/internal/history"
	"inventory/loadtest/internal/load"
	"inventory/loadtest/internal/servers"
	"inventory/loadtest/internal/target"
)

// The metrics of a window.
const (
	rate   = "orders/s"
	median = "p50 ms"
	slow   = "p99 ms"
	batch  = "orders a write"
)

func metrics() []experiment.Metric {
	all := []experiment.Metric{{Name: rate, Exact: true}, {Name: median}, {Name: slow}, {Name: batch}}
	for _, p := range parts() {
		all = append(all, experiment.Metric{Name: p.metric()})
	}
	return append(all, experiment.Metric{Name: others})
}

// work is a kind of orders.
type work struct {
	name    string
	outcome load.Outcome // that all of it comes to
	writers writers      // none: it writes nothing
	oneNode bool         // one PostgreSQL node does all of it
	ask     func(s *shop) (history.Kind, []history.Line)
}

// writers is how a process writes.
type writers struct {
	limit  int // orders of one write at most
	share  int // or this part of all waiting orders, if that is more; 0: not
	enough int // orders that wait for one more writer
	most   int // writers; 0: nothing is written
}

// The names of works.
const (
	hotName   = "one hot SKU"
	manyName  = "many SKUs"
	wholeName = "orders of 3 SKUs"
	goneName  = "a sold-out SKU"
)

// Limits of packages selling and postgres, which a test compares with them.
const (
	batchLimit      = 256
	batchParts      = 4
	defaultWorkers  = 4
	mostShared      = 256
	secondWriter    = 24
	mostSharedLines = 256
	defaultConns    = 16
)

// works are all that is measured.
func works() []work {
	line := func(sku string) history.Line { return history.Line{SKU: sku, Quantity: 1} }
	return []work{
		{hotName, load.Accepted, writers{batchLimit, batchParts, batchLimit, defaultWorkers}, true, func(s *shop) (history.Kind, []history.Line) {
			return history.Deduct, []history.Line{line(s.hot)}
		}},
		{manyName, load.Accepted, writers{mostShared, 0, secondWriter, 2}, false, func(s *shop) (history.Kind, []history.Line) {
			return history.Deduct, []history.Line{line(s.many[rand.IntN(len(s.many))])}
		}},
		{wholeName, load.Accepted, writers{mostSharedLines / 3, 0, 1, defaultConns}, false, func(s *shop) (history.Kind, []history.Line) {
			n, of := rand.IntN(len(s.many)), len(s.many)
			return history.Order, []history.Line{line(s.many[n]), line(s.many[(n+1)%of]), line(s.many[(n+2)%of])}
		}},
		{goneName, load.SoldOut, writers{}, false, func(s *shop) (history.Kind, []history.Line) {
			return history.Deduct, []history.Line{line(s.gone)}
		}},
	}
}

// shop is a process of the service to which callers send orders. The service of crowd.Shop only creates SKUs.
type shop struct {
	*crowd.Shop
	process   *target.Service
	services  *load.Services
	hot, gone string
	many      []string
	telling   sync.Mutex
}

const segments = 10

// open starts the process, and puts SKUs up for sale.
func (s *shop) open(ctx context.Context, c Config) (err error) {
	if s.process, err = c.Process.Start(ctx, target.Job{DatabaseURL: s.DatabaseURL, RedisURL: s.RedisURL, AnswerWithin: target.AnswerWithin}); err != nil {
		return err
	}
	s.OnClose(s.process.End)
	if s.services, err = load.Open(load.Config{URLs: []string{s.process.URL}, Connections: c.Scale.Callers[2]}); err != nil {
		return err
	}
	s.OnClose(func() error { s.services.Close(); return nil })
	if s.hot, err = s.Create(ctx, segments); err != nil {
		return err
	}
	for range c.Scale.SKUs {
		sku, err := s.Create(ctx, segments)
		if err != nil {
			return err
		}
		s.many = append(s.many, sku)
	}
	s.gone = servers.NewName("gone-")
	_, _, err = s.Service.CreateSKU(ctx, stock.NewSKU{SKU: s.gone, Segments: 1})
	return err
}

// play has callers order for a window, and returns what they got and what it cost.
func (s *shop) play(ctx context.Context, w work, callers int, window time.Duration) (experiment.Sample, error) {
	watched := gauges.Start(ctx, gauges.Sources{
		GeneratorSelf: true, ServiceMetricsURLs: []string{s.process.AdminURL + "/metrics"},
		RedisURL: s.RedisURL, DatabaseURL: s.DatabaseURL, PostmasterPID: s.PostmasterPID,
	}, time.Hour)
	sale, err := load.Buy(ctx, "", callers, 0, window, func(_ context.Context, o load.Order) (load.Outcome, error) {
		return s.order(w, o.ID)
	})
	read := watched.Stop()
	orders := float64(sale.Counts[w.outcome])
	sample := experiment.Sample{rate: orders / sale.Took.Seconds(), batch: orders / read.Grown(gauges.Writes)}
	if sale.Waits.Count() > 0 {
		sample[median], sample[slow] = compare.Quantile(sale.Waits, 50), compare.Quantile(sale.Waits, 99)
	}
	spent(sample, read, orders)
	experiment.Keep(ctx, sale.Waits)
	return sample, err
}

// order sends an order once, and notes the answer in the ledger. Every order of a work has the same outcome.
func (s *shop) order(w work, id string) (load.Outcome, error) {
	kind, lines := w.ask(s)
	asked, err := s.services.Try(0, load.NewRequest(&history.Operation{Kind: kind, ID: id, Lines: lines}), false)
	became := load.OutcomeOf(asked)
	s.telling.Lock()
	for _, line := range lines {
		switch {
		case became.Done():
			s.AddAnswers(line.SKU, 1, 0)
		case became.Open():
			s.AddAnswers(line.SKU, 0, 1)
		}
	}
	s.telling.Unlock()
	if err == nil && became != w.outcome {
		err = fmt.Errorf("%s: an order was %s: %d %s", w.name, became.Words(), asked.Answer.Status, asked.Answer.Code)
	}
	return became, err
}
