//go:build unix

package chaos

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"inventory/internal/api/client"
	"inventory/loadtest/internal/gauges"
	"inventory/loadtest/internal/history"
	"inventory/loadtest/internal/load"
	"inventory/loadtest/internal/report"
	"inventory/loadtest/internal/servers"
)

// The work of a round.
const (
	manySKUs     = 20
	hotStock     = 400
	manyStock    = 60
	manySegments = 4
	limitedStock = 100_000
	buyerLimit   = 40
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
	stack    *stack
	seed     uint64
	name     string // that its SKUs and ids begin with
	hot      string
	limited  string
	reserved string
	many     []string
	stocks   map[string]history.Stock
	services *load.Services

	began time.Time
}

func newRound(s *stack, seed uint64) *round {
	r := &round{stack: s, seed: seed, name: fmt.Sprint("r", seed), stocks: make(map[string]history.Stock)}
	r.hot, r.limited, r.reserved = r.name+"-hot", r.name+"-limited", r.name+"-reserved"
	for i := range manySKUs {
		r.many = append(r.many, fmt.Sprintf("%s-%02d", r.name, i))
	}
	return r
}

// play plays a round, and compares the operations with the rows.
func (r *round) play(ctx context.Context, length time.Duration, kinds []faultKind) (result Round, err error) {
	if r.services, err = r.stack.open(); err != nil {
		return Round{}, err
	}
	defer r.services.Close()
	if err := r.create(ctx); err != nil {
		return Round{}, err
	}
	random := rand.New(rand.NewPCG(r.seed, 0)) //nolint:gosec // it is to be played again
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
	result = Round{Seed: r.seed}
	err = r.stack.happen(working, r.began, faults, func(f fault, from, to time.Time) {
		result.Faults = append(result.Faults, Happened{Kind: f.kind.name, What: f.String(), From: from.Sub(r.began).Seconds(), To: to.Sub(r.began).Seconds()})
	})
	if err != nil {
		stop()
	}
	running.Wait()
	if err == nil {
		err = r.judge(ctx, all, &result)
	}
	return result, errors.Join(ctx.Err(), err)
}

// caller is the caller of a number.
func (r *round) caller(n int) *caller {
	return &caller{Rand: rand.New(rand.NewPCG(r.seed, uint64(n+1))), round: r, number: n} //nolint:gosec // it is to be played again
}

// create puts the SKUs of the round up for sale.
func (r *round) create(ctx context.Context) error {
	if err := r.stack.ready(ctx, r.services); err != nil {
		return err
	}
	create := func(sku string, segments int, s history.Stock) error {
		r.stocks[sku] = s
		n := client.NewSKU{Stock: s.Units, Segments: &segments}
		if s.BuyerLimit > 0 {
			n.PerBuyerLimit = &s.BuyerLimit
		}
		return r.services.Create(ctx, sku, n)
	}
	err := errors.Join(
		create(r.hot, segments, history.Stock{Units: hotStock}),
		create(r.reserved, segments, history.Stock{Units: hotStock}),
		create(r.limited, segments, history.Stock{Units: limitedStock, BuyerLimit: buyerLimit}))
	for _, sku := range r.many {
		err = errors.Join(err, create(sku, manySegments, history.Stock{Units: manyStock}))
	}
	return err
}

// count counts operations, and the orders that were accepted in each step of time.
func (r *Round) count(operations []history.Operation, began time.Time) {
	r.Operations = len(operations)
	seen := make(map[string]bool)
	for _, o := range operations {
		r.Attempts += len(o.Attempts)
		if last := o.Attempts[len(o.Attempts)-1]; o.Kind.Takes() && last.Answer.Accepted() && !seen[o.ID] {
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
		f.Recovery = -1
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
func (r *round) judge(ctx context.Context, all []*caller, result *Round) error {
	if err := r.stack.ready(ctx, r.services); err != nil {
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
	result.count(operations, r.began)
	result.recover()
	last := r.caller(callers)
	for sku, stock := range r.stocks {
		if stock.BuyerLimit == 0 {
			if err := last.buyAll(ctx, sku); err != nil {
				return err
			}
		}
	}
	rows, err := history.ReadRows(ctx, r.stack.database, r.name+"-")
	if err != nil {
		return err
	}
	if err := r.stack.readFences(ctx, rows.SKUs); err != nil {
		return err
	}
	promise := history.Promise{Stocks: r.stocks, AnswerWithin: answerBound, Staleness: staleness, Sweep: sweep}
	operations = append(operations, last.history...)
	for _, v := range history.Check(operations, rows, promise).Violations {
		result.Broken = append(result.Broken, v.String())
	}
	return nil
}

// buyAll buys all that is left of a SKU by one order.
func (c *caller) buyAll(ctx context.Context, sku string) error {
	left, err := c.round.services.Left(0, sku)
	if err != nil {
		return err
	}
	if left > 0 {
		c.ask(ctx, history.Operation{Kind: history.Deduct, ID: c.id(), Lines: []history.Line{{SKU: sku, Quantity: left}}})
	}
	return nil
}

// Run plays rounds. Broken promises are in the report; an error is a failure of the lab.
func Run(ctx context.Context, c Config) (d report.Document, err error) {
	kinds, err := chosen(c.Faults, c.Redis)
	if err != nil {
		return report.Document{}, err
	}
	s := &stack{}
	defer func() { err = errors.Join(err, s.Close()) }()
	if err := s.start(ctx, c); err != nil {
		return report.Document{}, err
	}
	r := &run{Config: c, Drill: load.Drill{Document: report.Document{Scenario: "chaos", Seed: c.Seed}, Name: "run"}}
	if r.Environment, err = (servers.URLs{DatabaseURL: s.database, RedisURL: s.redis.nodes[0].URL()}).Durable(ctx); err != nil {
		return report.Document{}, err
	}
	stopped := r.Play(ctx, func(ctx context.Context) error { return r.play(ctx, s, kinds) })
	if len(r.rounds) > 0 {
		r.tell()
	}
	return r.Report(), stopped
}

// readEvery is how often the machine and the servers are looked at in a run without faults.
const readEvery = 5 * time.Second

// sources are what a run without faults looks at. Its processes stay the same.
func (s *stack) sources() gauges.Sources {
	all := gauges.Sources{GeneratorSelf: true, DatabaseURL: s.database, PostmasterPID: s.postgres.PID(), RedisPID: s.redis.nodes[0].PID()}
	for _, p := range s.processes {
		all.ServiceMetricsURLs = append(all.ServiceMetricsURLs, p.worker.AdminURL+"/metrics")
	}
	return all
}

// play plays the rounds one after the other, and reports each as progress.
func (r *run) play(ctx context.Context, s *stack, kinds []faultKind) error {
	if len(kinds) == 0 {
		sampler := gauges.Start(ctx, s.sources(), readEvery)
		defer func() {
			read := sampler.Stop()
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
		if r.rounds = append(r.rounds, round); r.Parts == nil {
			r.Parts = []*load.Result{}
		}
		if _, err := fmt.Fprintf(r.Progress, "chaos: seed %d: %d operations, %d accepted, %d faults, %d promises broken\n",
			seed, round.Operations, round.Accepted, len(round.Faults), len(round.Broken)); err != nil {
			return fmt.Errorf("print: %w", err)
		}
	}
	return nil
}

const (
	patience    = 600 * time.Millisecond // of a caller with one attempt
	mostTries   = 40                     // of one operation: longer than any fault lasts
	lastTries   = 10                     // of one operation when no fault is left
	answerBound = 2 * time.Second        // after which nothing is written for a request, as the service promises
)

// caller does one operation after the other, and keeps them with their attempts.
type caller struct {
	*rand.Rand
	round   *round
	number  int
	sent    int
	history []history.Operation
}

// ask does an operation: it sends requests until the answer is final, mostly to another process than before.
func (c *caller) ask(ctx context.Context, o history.Operation) history.Answer {
	p := load.Persistence{
		First: c.IntN(processes), Silent: c.IntN(3) == 0, For: time.Hour, Tries: mostTries, Finish: true,
		Next:  func(before int) int { return (before + 1 + c.IntN(processes-1)) % processes },
		Pause: func() time.Duration { return within(c.Rand, 20*time.Millisecond, 200*time.Millisecond) },
	}
	if ctx.Err() != nil || c.number == callers {
		p.Tries = lastTries
	}
	answer, err := c.round.services.Ask(ctx, &o, p)
	c.history = append(c.history, o)
	if err != nil {
		return history.Answer{}
	}
	return answer
}

// id is the next id of this caller.
func (c *caller) id() string {
	c.sent++
	return fmt.Sprintf("%s-%d-%d", c.round.name, c.number, c.sent)
}

// work does random operations until ctx ends.
func (c *caller) work(ctx context.Context) {
	for ctx.Err() == nil {
		switch n := c.IntN(100); {
		case n < 45:
			c.deduct(ctx, c.round.hot, 1+c.Int64N(3), 0)
		case n < 60:
			c.deduct(ctx, c.round.many[c.IntN(len(c.round.many))], 1+c.Int64N(2), 0)
		case n < 68:
			c.deduct(ctx, c.round.limited, 1+c.Int64N(2), 0)
		case n < 80:
			c.reserve(ctx)
		case n < 90:
			c.order(ctx)
		case n < 97:
			c.restock(ctx)
		default:
			c.resegment(ctx)
		}
		time.Sleep(within(c.Rand, 0, 20*time.Millisecond))
	}
}

// deduct buys or reserves. Now and then it reads the deduction or gives it back.
func (c *caller) deduct(ctx context.Context, sku string, quantity int64, reserveFor time.Duration) (id string, accepted bool) {
	o := history.Operation{Kind: history.Deduct, ID: c.id(), Buyer: c.buyer(), Lines: []history.Line{{SKU: sku, Quantity: quantity}}, ReserveFor: reserveFor}
	accepted = c.ask(ctx, o).Accepted()
	switch n := c.IntN(20); {
	case n == 0:
		c.about(ctx, history.Read, sku, o.ID)
	case n == 1 && accepted:
		c.about(ctx, history.Cancel, sku, o.ID)
	case n < 4 && accepted && quantity > 1:
		c.giveBack(ctx, sku, o.ID)
	case n == 4: // once more, as if the answer was lost
		c.ask(ctx, o)
	}
	return o.ID, accepted
}

// giveBack returns a unit of a deduction that has more, and now and then repeats that.
func (c *caller) giveBack(ctx context.Context, sku, id string) {
	o := history.Operation{Kind: history.Return, ID: id, Ref: c.id(), Lines: []history.Line{{SKU: sku, Quantity: 1}}}
	c.ask(ctx, o)
	if c.IntN(3) == 0 {
		c.ask(ctx, o)
	}
}

func (c *caller) buyer() string { return fmt.Sprint("buyer-", c.IntN(50)) }

// about reads, commits or cancels a deduction.
func (c *caller) about(ctx context.Context, kind history.Kind, sku, id string) {
	c.ask(ctx, history.Operation{Kind: kind, ID: id, Lines: []history.Line{{SKU: sku}}})
}

// reserve reserves for a second or two. It commits, cancels, extends or forgets the reservation, some just when that ends.
func (c *caller) reserve(ctx context.Context) {
	reserveFor := within(c.Rand, time.Second, longestStay).Round(time.Millisecond)
	began := time.Now()
	id, accepted := c.deduct(ctx, c.round.reserved, 1+c.Int64N(2), reserveFor)
	if !accepted {
		return
	}
	n := c.IntN(6)
	if n > 3 { // before it ends, and mostly in time
		time.Sleep(within(c.Rand, 0, reserveFor))
		began, reserveFor = time.Now(), within(c.Rand, time.Second, longestStay).Round(time.Millisecond)
		c.ask(ctx, history.Operation{
			Kind: history.Extend, ID: id, Ref: c.id(), Lines: []history.Line{{SKU: c.round.reserved}}, ReserveFor: reserveFor,
		})
	}
	switch n {
	case 0:
		c.about(ctx, history.Commit, c.round.reserved, id)
	case 1:
		c.about(ctx, history.Cancel, c.round.reserved, id)
	case 2, 4: // as its time ends
		time.Sleep(time.Until(began.Add(reserveFor - 10*time.Millisecond + within(c.Rand, 0, 20*time.Millisecond))))
		c.about(ctx, history.Read, c.round.reserved, id)
		c.about(ctx, history.Commit, c.round.reserved, id)
		c.about(ctx, history.Read, c.round.reserved, id)
	}
}

// order buys some of several SKUs, all or none.
func (c *caller) order(ctx context.Context) {
	o := history.Operation{Kind: history.Order, ID: c.id(), Buyer: c.buyer()}
	for _, n := range c.Perm(len(c.round.many))[:2+c.IntN(3)] {
		o.Lines = append(o.Lines, history.Line{SKU: c.round.many[n], Quantity: 1 + c.Int64N(2)})
	}
	c.ask(ctx, o)
}

// restock adds half of the units that are wanted meanwhile. So the hot SKU is sold out most of the time, and each of its
// restocks is sold to the last unit.
func (c *caller) restock(ctx context.Context) {
	sku, quantity := c.round.hot, 5+c.Int64N(10)
	if c.IntN(3) == 0 {
		sku, quantity = c.round.many[c.IntN(len(c.round.many))], 5
	}
	c.ask(ctx, history.Operation{Kind: history.Restock, ID: c.id(), Lines: []history.Line{{SKU: sku, Quantity: quantity}}})
}

// resegment gives a SKU another number of segments.
func (c *caller) resegment(ctx context.Context) {
	c.ask(ctx, history.Operation{Kind: history.Resegment, ID: c.id(), Lines: []history.Line{{SKU: c.round.hot, Quantity: 1 + c.Int64N(20)}}})
}
