package tail

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"inventory/internal/api/client"
	"inventory/internal/app"
	"inventory/internal/progress"
	"inventory/loadtest/internal/history"
	"inventory/loadtest/internal/load"
	"inventory/loadtest/internal/servers"
	"inventory/loadtest/internal/target"
)

// Config says what to sell, where, and how often: the flags of the scenario, and what it needs to run.
type Config struct {
	Rounds      int     `help:"Rounds of each kind, 1 to 100: with nobody killed, and with a holder killed. Default: ${default}." default:"5" placeholder:"NUMBER" least:"1" most:"100"`
	Seed        uint64  `help:"Decides what is asked for, and when: the same seed sends the same orders. Default: ${default}." default:"1" placeholder:"NUMBER"`
	Stock       int64   `help:"Units of the SKU, 10000 to 1000000000; the last hundredth of them is what is measured. Default: ${default}." default:"1000000" placeholder:"UNITS" least:"10000" most:"1000000000"`
	Segments    int     `help:"Segments of the SKU, 1 to 1024. Default: ${default}." default:"10" placeholder:"NUMBER" least:"1" most:"1024"`
	Rate        float64 `help:"Orders a second that come in, over all processes, 1 to 100000. Default: ${default}." default:"500" placeholder:"RATE" least:"1" most:"100000"`
	Lock        string  `help:"Kind of lock of the segments: fair, which is taken for every batch, or reentrant, redlock, which are taken while orders queue, or none. Default: ${default}." default:"fair" enum:"reentrant,fair,redlock,none" placeholder:"KIND"`
	RedisURL    string  `help:"The Redis of all processes: redis://USER:PASSWORD@HOST:PORT/DB, or rediss://… with TLS; for redlock several with commas between them. Default: one, or three, started for this run." placeholder:"URL"`
	DatabaseURL string  `help:"A database on the PostgreSQL of all processes, which must sync its commits and let this user create a database, which is dropped in the end: postgres://USER:PASSWORD@HOST:PORT/DATABASE. Default: a server started for this run." placeholder:"URL"`

	Process  target.Process `kong:"-"`
	Progress io.Writer      `kong:"-"`
}

// preparation is about how long a round takes before the first buyer comes, for who watches.
const preparation = 2 * time.Second

// Tail is a run: what all rounds stand on, and what they came to.
type Tail struct {
	Config
	load.Drill
	servers.Closers
	redisURL string   // several with commas in between for RedLocks
	warnings []string // of the machine
	live     *progress.Live
	begun    time.Time // of the first round
	witness  *witness
	rounds   []Round
}

// Run sells tails and audits them. What was measured until it was stopped is told, too.
func Run(ctx context.Context, c Config) (t *Tail, err error) {
	t = &Tail{Config: c, Drill: load.Drill{
		Scenario: "tail", Name: "sale", Seed: c.Seed, Prefix: "tail-",
		Promise: history.Promise{Stocks: make(map[string]history.Stock), AnswerWithin: answerWithin, Staleness: time.Second},
	}}
	defer func() { err = errors.Join(err, t.Close()) }()
	if err := t.open(ctx); err != nil {
		return t, err
	}
	if err := t.Play(ctx, t.play); err != nil {
		return t, err
	}
	for i := range t.rounds {
		t.rounds[i].settle(t.Rows, t.Found)
	}
	return t, nil
}

// play sells tails in pairs, each kind first in turn.
func (t *Tail) play(ctx context.Context) error {
	t.begun = time.Now()
	t.live = progress.NewLive(t.Progress, time.Duration(2*t.Rounds)*(t.length()+preparation))
	defer t.live.Finish()
	for number := range t.Rounds {
		for _, killed := range []bool{number%2 == 1, number%2 == 0} {
			r, err := t.round(ctx, number, killed)
			if err == nil {
				err = ctx.Err()
			}
			if err != nil {
				return fmt.Errorf("%s: %w", r.name(), err)
			}
			t.rounds = append(t.rounds, r)
		}
	}
	return nil
}

// round sells a SKU to its end. It is sent the same orders whether a holder is killed in it or not.
func (t *Tail) round(ctx context.Context, number int, killed bool) (r Round, err error) {
	r = Round{Number: number + 1, Killed: killed}
	seed := load.SeedOf(t.Config.Seed, fmt.Sprintf("round %d", r.Number))
	sku := fmt.Sprintf("tail-%d-%s", r.Number, kind(killed))
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
	if err := services.Create(ctx, sku, client.NewSKU{Stock: t.Stock, Segments: &t.Segments}); err != nil {
		return r, err
	}
	t.Promise.Stocks[sku] = history.Stock{Units: t.Stock}
	before, began := portions(load.NewRandom(seed, "fill"), sku, t.Stock, t.Stock/part, int64(t.Segments)), time.Now()
	err = t.fill(ctx, services, sku, all, before)
	t.Parts = append(t.Parts, load.Part{Name: r.name() + ", before the tail", Result: load.Closed(began, before)})
	if err != nil {
		return r, err
	}
	begins, err := services.Stock(0, sku, time.Now())
	if err != nil {
		return r, err
	}
	r.Segments = begins.Segments
	var victim *process
	if killed {
		victim = all[number%len(all)]
	}
	r.course, err = t.sell(ctx, services, sku, all, seed, victim)
	t.Parts = append(t.Parts, load.Part{Name: r.name(), Result: r.course.result})
	return r, err
}

// name is a round for people.
func (r Round) name() string { return fmt.Sprintf("round %d, %s", r.Number, titles(r.Killed)) }

// kind names the rounds of a kind.
func kind(killed bool) string {
	if killed {
		return "killed"
	}
	return "calm"
}

// neverTold are the orders that were never told what became of them.
func (t *Tail) neverTold() (lines []string) {
	for _, r := range t.rounds {
		if r.NeverTold > 0 {
			lines = append(lines, fmt.Sprintf("SKU %s: %d orders were never told what became of them, also when they asked again, the first: %s",
				r.course.sku, r.NeverTold, r.course.neverTold()))
		}
	}
	return lines
}

// Err is what must not happen, and did.
func (t *Tail) Err() error {
	if told := t.neverTold(); len(told) > 0 {
		return errors.Join(t.Drill.Err(), errors.New(told[0]))
	}
	return t.Drill.Err()
}

const (
	sellers     = 3
	connections = 64 // to each process
	// answerWithin is how long a process may write for a request: as little as the product allows itself.
	answerWithin = 2 * time.Second
)

// open starts or reaches the servers.
func (t *Tail) open(ctx context.Context) error {
	on, err := servers.Prepare(ctx, servers.URLs{RedisURL: t.RedisURL, DatabaseURL: t.Config.DatabaseURL}, servers.Needs{
		Durable: true, Database: "tail_", Generator: fmt.Sprintf("this program, open loop, %d connections to each process", connections),
	})
	if err != nil {
		return err
	}
	t.OnClose(on.Close)
	if t.redisURL = on.RedisURL; t.RedisURL == "" && t.Lock == app.LockRed {
		const nodes = 3
		for range nodes - 1 {
			more, err := servers.Open(ctx, servers.URLs{DatabaseURL: on.DatabaseURL})
			if err != nil {
				return err
			}
			t.OnClose(more.Close)
			t.redisURL += "," + more.RedisURL
		}
	}
	t.Drill.DatabaseURL, t.Environment, t.warnings = on.DatabaseURL, on.About, on.Warnings
	t.Environment.Target = fmt.Sprintf("%d processes of the service, over HTTP", sellers)
	t.Environment.Measurement = append(t.Environment.Measurement,
		"latency from the planned send", fmt.Sprintf("%s arrivals", load.Poisson), fmt.Sprintf("%d rounds of each kind", t.Rounds))
	if t.witness, err = openWitness(t.Lock, t.redisURL); err != nil {
		return err
	}
	t.OnClose(t.witness.close)
	return nil
}

// process is one that sells.
type process struct {
	*target.Service
	number int
	names  map[string]bool // by which locks know it
	dead   bool
}

// fleet are the processes of a round.
type fleet []*process

// start starts the processes.
func (t *Tail) start(ctx context.Context) (all fleet, err error) {
	for n := range sellers {
		service, err := t.Process.Start(ctx, target.Job{
			DatabaseURL: t.Drill.DatabaseURL, RedisURL: t.redisURL, Lock: t.Lock, AnswerWithin: answerWithin,
		})
		if err != nil {
			return nil, errors.Join(err, all.end())
		}
		all = append(all, &process{Service: service, number: n, names: map[string]bool{}})
	}
	return all, nil
}

// services are connections to the processes.
func (all fleet) services() (*load.Services, error) {
	c := load.Config{Connections: connections * len(all), Promise: history.Promise{AnswerWithin: answerWithin}}
	for _, p := range all {
		c.URLs = append(c.URLs, p.URL)
	}
	return load.Open(c)
}

// kill ends a process as a crash would.
func (p *process) kill() error {
	p.dead = true
	return p.Kill()
}

// end ends those that live.
func (all fleet) end() error {
	var errs []error
	for _, p := range all {
		if !p.dead {
			errs = append(errs, p.End())
		}
	}
	return errors.Join(errs...)
}
