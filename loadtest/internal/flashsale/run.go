// Package flashsale plays a flash sale over HTTP, in an open loop.
//
// A round sells one fresh SKU. A trickle of buyers comes before its sale opens, and is refused; a spike asks for more than there
// is, until it is sold out; a storm of retries repeats earlier orders; in the end it cools down. Each request follows from the seed
// and the round's number alone.
//
// Package history compares the answers with the rows. Nothing comes back in this run, so stock only falls, and of every refusal
// it is known whether it was false for certain, or may have been.
package flashsale

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"inventory/internal/api/client"
	"inventory/internal/stock"
	"inventory/loadtest/internal/gauges"
	"inventory/loadtest/internal/history"
	"inventory/loadtest/internal/load"
	"inventory/loadtest/internal/report"
	"inventory/loadtest/internal/servers"
	"inventory/loadtest/internal/target"
)

// Config says what is sold, and who comes when: flags of the scenario, and what others of them come to.
type Config struct {
	Quantity      Units        `help:"Units of an order, a number or a range such as 1-5. Default: ${default}." default:"1" placeholder:"UNITS"`
	Stock         int64        `help:"Units of a round's SKU, 1 to 1000000000. Default: ${default}." default:"10000" placeholder:"UNITS" least:"1" most:"1000000000"`
	Segments      int          `help:"Segments of the SKU, 1 to 1024. Default: ${default}." default:"10" placeholder:"NUMBER" least:"1" most:"1024"`
	PerBuyerLimit int64        `help:"Units that one buyer may have; 0 is any number. Default: ${default}." default:"0" placeholder:"UNITS" least:"0" most:"1000000000"`
	Buyers        int          `help:"Buyers whom each new order is drawn from; 0 gives each order a buyer of its own. Default: ${default}." default:"0" placeholder:"NUMBER" least:"0" most:"1000000000"`
	Rounds        int          `help:"Rounds, 1 to 100, each of which sells a SKU of its own. Default: ${default}." default:"5" placeholder:"NUMBER" least:"1" most:"100"`
	Seed          uint64       `help:"Seed of the requests and their times; 0 draws one. A database sells a seed once. Default: ${default}." default:"0" placeholder:"NUMBER"`
	Spacing       load.Spacing `name:"arrivals" help:"How requests of a rate lie in time: poisson, as people come, or even. Default: ${default}." default:"poisson" enum:"poisson,even" placeholder:"KIND"`
	Connections   int          `help:"Connections, 1 to 10000, each with one request under way. Default: ${default}." default:"256" placeholder:"NUMBER" least:"1" most:"10000"`

	Phases   []load.Phase `kong:"-"`
	Key      string       `kong:"-"` // API key of the scope admin; "": none is shown
	Progress io.Writer    `kong:"-"` // where a person watches
}

// Units is how many units an order asks for, at least and at most.
type Units struct{ Least, Most int64 }

// String is the flag's value.
func (u Units) String() string { return fmt.Sprintf("%d-%d", u.Least, u.Most) }

// UnmarshalText reads a number, or a range.
func (u *Units) UnmarshalText(text []byte) (err error) {
	least, most, ranged := strings.Cut(string(text), "-")
	if !ranged {
		most = least
	}
	u.Least, err = strconv.ParseInt(least, 10, 64)
	if err == nil {
		u.Most, err = strconv.ParseInt(most, 10, 64)
	}
	if err != nil || u.Least < 1 || u.Most < u.Least || u.Most > stock.MaxQuantity {
		return fmt.Errorf("must be 1 to %d, or a range such as 1-5", stock.MaxQuantity)
	}
	return nil
}

// Load is how many requests all rounds expect to send.
func (c Config) Load() float64 { return load.Expected(c.Phases) * float64(c.Rounds) }

const (
	// lead is the time to prepare a round: when the sale opens must be known when the SKU is created.
	lead = 500 * time.Millisecond
	// The warm-up is so long, with so many orders a second at most.
	warmUp     = time.Second
	warmUpRate = 1000.
	// gaugeEvery is how often the machine and the servers are read.
	gaugeEvery = 500 * time.Millisecond
)

// Sale is a run.
type Sale struct {
	Config
	load.Drill
	to     *target.Target
	rounds []*round
	gauges gauges.Readings
}

// round sells one SKU.
type round struct {
	sku     string
	number  int // from 0
	load    load.Load
	first   []int         // the request that asked first for the order of each
	opening time.Duration // when the sale opens, since the start
	result  *load.Result

	// By its answers and its rows:
	stock    history.SKU
	refusals history.Refusals // for want of units
	units    int64            // sold, by the rows
	told     int              // orders with an answer that they were sold
	soldOut  time.Duration    // from the opening to the answer that sold the last unit; never: units were left
	planned  time.Duration    // from the opening until enough orders for all units were due; never: there were not enough
	firstNo  time.Duration    // from the start to the first refusal for want of stock; never: there was none
	early    int64            // orders accepted before the opening, by the clock of this program
	late     int64            // orders sent after the opening and refused as too early, by the same clock
}

// Run plays the rounds at a target, and audits. An interrupted run keeps what was measured.
func Run(ctx context.Context, c Config, to *target.Target) (report.Document, error) {
	s := &Sale{Config: c, to: to, Drill: load.Drill{
		Name: "sale", Prefix: prefix(c.Seed),
		Bad: []load.Outcome{load.Refused, load.Failed, load.Unreached, load.Unknown},
	}}
	if err := s.At(ctx, to, c.Key, c.Connections, fmt.Sprintf("open loop, %d connections", c.Connections), "latency from the planned send", fmt.Sprintf("%s arrivals", c.Spacing)); err != nil {
		return report.Document{}, err
	}
	stopped := s.Play(ctx, s.play)
	for _, r := range s.rounds {
		r.settle(s.Rows, s.Found)
	}
	if len(s.rounds) > 0 {
		s.tell()
	}
	return s.Document, stopped
}

// play plays the rounds on a database that has not sold this seed yet. It returns why it stopped early.
func (s *Sale) play(ctx context.Context) error {
	for n := range s.Rounds {
		_, known, err := s.Services.Look(ctx, skuOf(s.Config.Seed, n))
		if err != nil {
			return err
		}
		if known {
			return fmt.Errorf("seed %d was sold on this database before; choose another --seed", s.Config.Seed)
		}
	}
	if err := s.warm(ctx); err != nil {
		return err
	}
	stop := gauges.Start(ctx, s.to.Sources, gaugeEvery)
	defer func() { s.gauges = stop() }()
	for n := range s.Rounds {
		r := s.newRound(n)
		r.load.Start = time.Now().Add(lead)
		var opens time.Time
		if r.opening > 0 {
			opens = r.load.Start.Add(r.opening).UTC().Truncate(time.Microsecond) // as the service keeps it
		}
		if err := s.create(ctx, r.sku, opens); err != nil {
			return err
		}
		s.Promise.Stocks[r.sku] = history.Stock{Units: s.Stock, BuyerLimit: s.PerBuyerLimit}
		s.sell(ctx, r)
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	return nil
}

// prefix begins the names of SKUs.
func prefix(seed uint64) string { return "flash-" + strconv.FormatUint(seed, 36) + "-" }

// skuOf is the name of a round's SKU, which its requests repeat.
func skuOf(seed uint64, round int) string { return prefix(seed) + strconv.Itoa(round+1) }

// warm is the warm-up: it sells a SKU of its own.
func (s *Sale) warm(ctx context.Context) error {
	sku := servers.NewName("warm-flash-")
	if err := s.create(ctx, sku, time.Time{}); err != nil {
		return err
	}
	at := load.Times(s.Config.Seed, s.Spacing, []load.Phase{{Rate: min(warmUpRate, load.Expected(s.Phases)/2), Length: warmUp}})
	orders, _ := s.orders(s.Config.Seed, sku, len(at), func(int) float64 { return 0 })
	s.Services.Run(ctx, load.Load{Start: time.Now(), At: at, Operations: orders})
	return ctx.Err()
}

// create puts a SKU up for sale, from an instant on where that is not zero.
func (s *Sale) create(ctx context.Context, sku string, opens time.Time) error {
	n := client.NewSKU{Stock: s.Stock, Segments: &s.Segments}
	if !opens.IsZero() {
		n.SaleStartsAt = &opens
	}
	if s.PerBuyerLimit > 0 {
		n.PerBuyerLimit = &s.PerBuyerLimit
	}
	return s.Services.Create(ctx, sku, n)
}

// newRound plans a round: a pure function of the configuration and its number.
func (s *Sale) newRound(n int) *round {
	seed := load.NewRandom(s.Config.Seed, fmt.Sprintf("round %d", n+1)).Uint64()
	r := &round{sku: skuOf(s.Config.Seed, n), number: n, opening: opening(s.Phases)}
	r.load.At = load.Times(seed, s.Spacing, s.Phases)
	phases, share := spans(s.Phases), map[string]float64{Storm: 1, CoolDown: 0.5} // of retries
	r.load.Operations, r.first = s.orders(seed, r.sku, len(r.load.At), func(i int) float64 {
		return share[phases[slices.IndexFunc(phases, func(p span) bool { return r.load.At[i] < p.to })].name]
	})
	return r
}

// sell sends the requests of a round, and tells of each phase.
func (s *Sale) sell(ctx context.Context, r *round) {
	telling, stop := context.WithCancel(ctx)
	var teller sync.WaitGroup
	teller.Go(func() {
		for _, p := range spans(s.Phases) {
			if !load.Sleep(telling, time.Until(r.load.Start.Add(p.from))) {
				return
			}
			_, _ = fmt.Fprintf(s.Progress, "flash-sale: round %d of %d: %s\n", r.number+1, s.Rounds, p.name) // it is only progress
		}
	})
	r.result = s.Services.Run(ctx, r.load)
	s.rounds, s.Parts = append(s.rounds, r), append(s.Parts, r.result)
	stop()
	teller.Wait()
}

// The phases.
const (
	Trickle  = "trickle"   // before the sale opens
	Spike    = "spike"     // new orders
	Storm    = "storm"     // retries alone
	CoolDown = "cool-down" // half new orders, half retries
)

// opening is when the sale opens: when the trickle is over.
func opening(phases []load.Phase) time.Duration {
	if first := spans(phases)[0]; first.name == Trickle {
		return first.to
	}
	return 0
}

// span is the time of a phase in a round.
type span struct {
	name     string
	from, to time.Duration
}

func spans(phases []load.Phase) (all []span) {
	var at time.Duration
	for _, p := range phases {
		all = append(all, span{p.Name, at, at + p.Length})
		at += p.Length
	}
	return all
}

// orders are n requests for one SKU: new orders, and retries of earlier ones. first has for each request the first request of
// its order. It is a pure function.
func (c Config) orders(seed uint64, sku string, n int, retries func(i int) float64) (all []history.Operation, first []int) {
	random := load.NewRandom(seed, "orders")
	var fresh []int
	for i := range n {
		if len(fresh) > 0 && random.Float64() < retries(i) {
			again := fresh[random.IntN(len(fresh))]
			all, first = append(all, all[again]), append(first, again)
			continue
		}
		all, first = append(all, c.order(random, sku, len(fresh))), append(first, i)
		fresh = append(fresh, i)
	}
	return all, first
}

// order draws a new order.
func (c Config) order(random *rand.Rand, sku string, buyer int) history.Operation {
	o := history.Operation{Kind: history.Deduct, Lines: []history.Line{{SKU: sku, Quantity: c.Quantity.Least + random.Int64N(c.Quantity.Most-c.Quantity.Least+1)}}}
	if c.Buyers > 0 {
		buyer = random.IntN(c.Buyers)
	}
	o.ID, o.Buyer = load.NewID(random), "buyer-"+strconv.Itoa(buyer)
	return o
}
