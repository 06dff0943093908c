//go:build unix

package chaos

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"inventory/internal/api/client"
	"inventory/loadtest/internal/gauges"
	"inventory/loadtest/internal/history"
	"inventory/loadtest/internal/load"
	"inventory/loadtest/internal/report"
)

// The work of a round.
const (
	manySKUs     = 20
	hotStock     = 400
	manyStock    = 60
	manySegments = 4
	limitedStock = 100_000
	buyerLimit   = 40
	groupedSKUs  = 3 // with one limit
	groupLimit   = 8
	segments     = 10
	longestStay  = 2 * time.Second // of a reservation, from when it was made or extended
)

const (
	// staleness is for how long a process may take a SKU for sold out: its knowledge lasts a second, and a fault may hold up a
	// notification.
	staleness = 4 * time.Second
	// sweep is how long after its end a reservation may still be there: the service looks once a second, if it can.
	sweep = 10 * time.Second
)

// round is one sale of SKUs of its own, with faults.
type round struct {
	Round
	stack    *stack
	name     string // that its SKUs and ids begin with
	hot      string
	limited  string
	reserved string
	many     []string
	grouped  []string // a limit counts over all of them
	stocks   map[string]history.Stock
	services *load.Services // of callers in a hurry
	steady   *load.Services // of the lab itself, which is not

	began time.Time
}

func newRound(s *stack, seed uint64) *round {
	r := &round{Round: Round{Seed: seed}, stack: s, name: fmt.Sprint("r", seed)}
	r.hot, r.limited, r.reserved = r.name+"-hot", r.name+"-limited", r.name+"-reserved"
	r.stocks = map[string]history.Stock{r.hot: {Units: hotStock}, r.reserved: {Units: hotStock}, r.limited: {Units: limitedStock, BuyerLimit: buyerLimit}}
	for i := range manySKUs {
		r.many = append(r.many, fmt.Sprintf("%s-%02d", r.name, i))
		r.stocks[r.many[i]] = history.Stock{Units: manyStock}
	}
	for i := range groupedSKUs {
		r.grouped = append(r.grouped, fmt.Sprintf("%s-of-group-%d", r.name, i))
		r.stocks[r.grouped[i]] = history.Stock{Units: limitedStock, BuyerLimit: groupLimit, Group: r.name + "-group"}
	}
	return r
}

// play plays a round, and compares the operations with the rows.
func (r *round) play(ctx context.Context, length time.Duration, kinds []faultKind) (_ Round, err error) {
	if r.services, err = r.stack.open(patience); err != nil {
		return Round{}, err
	}
	defer r.services.Close()
	if r.steady, err = r.stack.open(load.DefaultPatience); err != nil {
		return Round{}, err
	}
	defer r.steady.Close()
	if err := r.create(ctx); err != nil {
		return Round{}, err
	}
	random := rand.New(rand.NewPCG(r.Seed, 0)) //nolint:gosec // it is to be played again
	faults := schedule(random, kinds, length)
	r.began = time.Now()
	working, stop := context.WithTimeout(ctx, length)
	defer stop()
	all := make([]*caller, callers)
	var running sync.WaitGroup
	for i := range all {
		all[i] = r.caller(i)
		running.Go(func() { all[i].work(working) })
	}
	if r.Faults, err = r.stack.happen(working, r.began, faults); err != nil {
		stop()
	}
	running.Wait()
	if err == nil {
		err = r.judge(ctx, all)
	}
	return r.Round, errors.Join(ctx.Err(), err)
}

// caller is the caller of a number.
func (r *round) caller(n int) *caller {
	return &caller{Rand: rand.New(rand.NewPCG(r.Seed, uint64(n+1))), round: r, number: n} //nolint:gosec // it is to be played again
}

// create puts the SKUs of the round up for sale.
func (r *round) create(ctx context.Context) error {
	if err := r.stack.ready(ctx, r.steady); err != nil {
		return err
	}
	for sku, stock := range r.stocks {
		parts := segments
		if slices.Contains(r.many, sku) {
			parts = manySegments
		}
		n := client.NewSKU{Stock: stock.Units, Segments: &parts}
		if stock.BuyerLimit > 0 {
			n.PerBuyerLimit = &stock.BuyerLimit
		}
		if stock.Group != "" {
			n.LimitGroup = &stock.Group
		}
		if err := r.steady.Create(ctx, sku, n); err != nil {
			return err
		}
	}
	return nil
}

// count counts operations, and the orders that were accepted in each step of time.
func (r *Round) count(operations []history.Operation, began time.Time) {
	r.Operations = len(operations)
	seen := make(map[string]bool)
	for _, o := range operations {
		r.Attempts += len(o.Attempts)
		if last := o.Last(); o.Kind.TakesUnits() && last.Answer.Accepted() && !seen[o.ID] {
			r.Accepted++
			seen[o.ID] = true
			step := int(last.Ended.Sub(began) / sampleEvery)
			for len(r.Rate) <= step {
				r.Rate = append(r.Rate, 0)
			}
			r.Rate[step] += 1 / sampleEvery.Seconds()
		}
	}
}

// recover finds for each fault how soon half of what was sold before was sold again.
func (r *Round) recover() {
	at := func(seconds float64) int { return max(0, min(len(r.Rate), int(seconds/sampleEvery.Seconds()))) }
	for i := range r.Faults {
		f := &r.Faults[i]
		f.Recovery = math.NaN()
		before := 0.0
		from, to := at(f.From-0.5), at(f.From)
		for _, rate := range r.Rate[from:to] {
			before += rate / float64(to-from)
		}
		for n, rate := range r.Rate[at(f.To):] {
			if rate >= before/2 {
				f.Recovery = float64(n) * sampleEvery.Seconds()
				break
			}
		}
	}
}

// judge waits until nothing changes any more, and checks.
func (r *round) judge(ctx context.Context, all []*caller) error {
	if err := r.stack.ready(ctx, r.steady); err != nil {
		return err
	}
	// The last reservations have ended by then, and all processes know: a refusal after that is false.
	if !load.Sleep(ctx, longestStay+staleness+time.Second/2) {
		return ctx.Err()
	}
	var operations []history.Operation
	for _, c := range all {
		operations = append(operations, c.history...)
	}
	r.count(operations, r.began)
	r.recover()
	last := r.caller(callers)
	for sku, stock := range r.stocks {
		left, _, err := r.steady.Look(ctx, sku)
		if err != nil {
			return err
		}
		if left > 0 && stock.BuyerLimit == 0 { // all by one order
			last.ask(ctx, history.Operation{Kind: history.Deduct, ID: last.id(), Lines: []history.Line{{SKU: sku, Quantity: left}}})
		}
	}
	rows, err := history.ReadRows(ctx, r.stack.DatabaseURL, r.name+"-")
	if err != nil {
		return err
	}
	if err := r.stack.readFences(ctx, rows.SKUs); err != nil {
		return err
	}
	promise := history.Promise{Stocks: r.stocks, AnswerWithin: answerBound, Staleness: staleness, Sweep: sweep}
	operations = append(operations, last.history...)
	r.Found = history.Check(operations, rows, promise)
	return nil
}

// Run plays rounds. Broken promises are in the report; an error is a failure of the lab.
func Run(ctx context.Context, c Config) (d report.Document, err error) {
	kinds, err := chosen(c.Faults, c.Redis)
	if err != nil {
		return report.Document{}, err
	}
	s, err := start(ctx, c)
	if err != nil {
		return report.Document{}, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	r := &run{Config: c}
	stopped := r.Run(ctx, "run", func(ctx context.Context) error { return r.play(ctx, s, kinds) })
	if len(r.rounds) > 0 {
		r.tell(s.About)
	}
	return r.Document, stopped
}

// readEvery is how often the machine and the servers are looked at in a run without faults.
const readEvery = 5 * time.Second

// sources are what a run without faults looks at. Its processes stay the same.
func (s *stack) sources() gauges.Sources {
	all := gauges.Sources{DatabaseURL: s.DatabaseURL, PostmasterPID: s.Postgres.PID(), RedisPID: s.redis.nodes[0].PID()}
	for _, p := range s.processes {
		all.AdminURLs = append(all.AdminURLs, p.worker.AdminURL)
	}
	return all
}

// play plays the rounds one after the other, and reports each as progress.
func (r *run) play(ctx context.Context, s *stack, kinds []faultKind) error {
	if len(kinds) == 0 {
		stop := gauges.Start(ctx, s.sources(), readEvery)
		defer func() {
			read := stop()
			r.read = &read
		}()
	}
	began, rounds := time.Now(), r.Rounds
	switch {
	case rounds == 0 && r.For > 0:
		rounds = mostRounds
	case rounds == 0:
		rounds = defaultRounds
	}
	for i := range rounds {
		if r.For > 0 && time.Since(began) > r.For {
			break
		}
		seed := r.Config.Seed + uint64(i) //nolint:gosec // no round has a number below zero
		round, err := newRound(s, seed).play(ctx, r.Length, kinds)
		if err != nil {
			return fmt.Errorf("round of seed %d: %w", seed, err)
		}
		r.rounds = append(r.rounds, round)
		_, _ = fmt.Fprintf(r.Progress, "chaos: seed %d: %s, %d accepted, %s, promises broken %s\n", seed,
			report.Count(round.Operations, "operation"), round.Accepted, report.Count(len(round.Faults), "fault"), report.Count(len(round.Found.Violations), "time")) // it is only progress
	}
	return nil
}
