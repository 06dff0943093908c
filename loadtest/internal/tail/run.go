package tail

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

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

const (
	sellers     = 3  // processes
	connections = 64 // to each process
	// answerWithin is how long a process may write for a request: the least that the product allows.
	answerWithin = 2 * time.Second
	// preparation is about how long a round takes before the first buyer comes.
	preparation = 2 * time.Second
)

// Tail is a run.
type Tail struct {
	Config
	load.Drill
	servers.Closers
	redisURL string   // of all processes; several for RedLocks, with commas in between
	warnings []string // of the machine
	live     *progress.Live
	begun    time.Time // of the first round
	witness  *witness
	rounds   []*Round
}

// Run sells tails and audits them. An interrupted run keeps its whole rounds.
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
	for _, r := range t.rounds {
		r.settle(t.Rows, t.Found)
	}
	return t, nil
}

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
	if t.witness, err = openWitness(t.Lock, t.redisURL, t.Segments); err != nil {
		return err
	}
	t.OnClose(t.witness.Close)
	return nil
}

// play plays the rounds in pairs of both kinds, whose order alternates.
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

// Err is what must not happen.
func (t *Tail) Err() error {
	if lines := t.neverTold(); len(lines) > 0 {
		return errors.Join(t.Drill.Err(), errors.New(lines[0]))
	}
	return t.Drill.Err()
}

// neverTold has a line for each round with orders that got no final answer.
func (t *Tail) neverTold() (lines []string) {
	for _, r := range t.rounds {
		open := func(reply load.Reply) bool { return slices.Contains(unanswered(), reply.Outcome) }
		if i := slices.IndexFunc(r.result.Replies, open); i >= 0 {
			lines = append(lines, fmt.Sprintf("SKU %s: %d orders got no final answer, also when they were sent again, the first: %s",
				r.sku, r.NeverTold, r.result.Operations[i]))
		}
	}
	return lines
}
