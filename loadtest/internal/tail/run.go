package tail

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"inventory/internal/api/client"
	"inventory/internal/progress"
	"inventory/loadtest/internal/history"
	"inventory/loadtest/internal/load"
	"inventory/loadtest/internal/report"
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

// Result is what the rounds came to.
type Result struct {
	Started     time.Time // zero: there is nothing to tell
	Rounds      []Round
	Stopped     error // why there are no more rounds; nil: these are all
	Violations  []history.Violation
	SKUs        int // that were audited
	Environment report.Environment
	Warnings    []string // of the machine
	took        time.Duration
	config      Config
}

// Began tells whether there is anything to tell.
func (r Result) Began() bool { return !r.Started.IsZero() }

// Run sells tails and audits them. What ends it early, a ctx that is over among it, is told beside the rounds until then.
func Run(ctx context.Context, c Config) (result Result, err error) {
	s := &stand{Config: c}
	defer func() { err = errors.Join(err, s.Close()) }()
	result = Result{config: c, Started: time.Now()}
	if err := s.open(ctx); err != nil {
		return Result{}, err
	}
	result.Environment, result.Warnings = s.environment, s.warnings
	result.Stopped = s.rounds(ctx, &result)
	if ctx.Err() != nil {
		result.Stopped = fmt.Errorf("the sale was stopped: %w", context.Cause(ctx))
	} else if result.Stopped != nil && len(result.Rounds) == 0 {
		return Result{}, result.Stopped
	}
	result.took = time.Since(result.Started)
	return result, nil
}

// rounds sells tails in pairs, each kind first in turn.
func (s *stand) rounds(ctx context.Context, result *Result) error {
	s.begun = time.Now()
	s.live = progress.NewLive(s.Progress, time.Duration(2*s.Rounds)*(s.length()+preparation))
	defer s.live.Finish()
	for number := range s.Rounds {
		for _, killed := range []bool{number%2 == 1, number%2 == 0} {
			r, err := s.round(ctx, number, killed, result)
			if err == nil {
				err = ctx.Err()
			}
			if err != nil {
				return fmt.Errorf("round %d, %s: %w", number+1, titles(killed), err)
			}
			result.Rounds = append(result.Rounds, r)
		}
	}
	return nil
}

// round sells a SKU to its end, and audits it, also if ctx ends meanwhile. It is sent the same orders whether a holder is
// killed in it or not.
func (s *stand) round(ctx context.Context, number int, killed bool, result *Result) (r Round, err error) {
	seed := load.SeedOf(s.Seed, fmt.Sprintf("round %d", number+1))
	sku := fmt.Sprintf("tail-%d-%s", number+1, kind(killed))
	all, err := s.start(ctx)
	if err != nil {
		return Round{}, err
	}
	defer func() { err = errors.Join(err, all.end()) }()
	services, err := all.services()
	if err != nil {
		return Round{}, err
	}
	defer services.Close()
	if err := services.Create(ctx, sku, client.NewSKU{Stock: s.Stock, Segments: &s.Segments}); err != nil {
		return Round{}, err
	}
	before := portions(load.NewRandom(seed, "fill"), sku, s.Stock, s.Stock/part, int64(s.Segments))
	var c *course
	began := time.Now()
	defer func() {
		operations := before
		if c != nil {
			operations = slices.Concat(before, c.result.Operations)
		}
		promise := services.Promise
		promise.Stocks, promise.Staleness = map[string]history.Stock{sku: {Units: s.Stock}}, time.Second
		rows, found := history.Audit(ctx, s.databaseURL, sku, operations, promise)
		result.Violations, result.SKUs = append(result.Violations, found.Violations...), result.SKUs+len(rows.SKUs)
		if err == nil {
			r = newRound(c, Round{Number: number + 1, Killed: killed, Segments: r.Segments}, rows, found)
		}
	}()
	if err := s.fill(ctx, services, sku, all, before); err != nil {
		return Round{}, err
	}
	begins, err := services.Stock(0, sku, time.Now())
	if err != nil {
		return Round{}, err
	}
	r.Segments = begins.Segments
	var victim *process
	if killed {
		victim = all[number%len(all)]
	}
	c, err = s.sell(ctx, services, sku, all, seed, victim)
	c.before = load.Closed(began, before)
	return r, err
}

// kind names the rounds of a kind.
func kind(killed bool) string {
	if killed {
		return "killed"
	}
	return "calm"
}

// wrong are the promises that were broken, and the orders that were never told.
func (r Result) wrong() []string {
	lines := history.Tell(r.Violations)
	for _, round := range r.Rounds {
		if round.NeverTold > 0 {
			lines = append(lines, fmt.Sprintf("SKU %s: %d orders were never told what became of them, also when they asked again, the first: %s",
				round.course.sku, round.NeverTold, round.course.neverTold()))
		}
	}
	return lines
}

// Err is what must not happen, and did.
func (r Result) Err() error {
	if wrong := r.wrong(); len(wrong) > 0 {
		return errors.Join(r.Stopped, fmt.Errorf("%d things are wrong, the first: %s", len(wrong), wrong[0]))
	}
	return r.Stopped
}
