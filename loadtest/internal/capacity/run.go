package capacity

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"time"

	"inventory/internal/app"
	"inventory/loadtest/internal/crowd"
	"inventory/loadtest/internal/experiment"
	"inventory/loadtest/internal/servers"
	"inventory/loadtest/internal/target"
)

// Config says for what sale and what site to plan: the flags of the scenario, and what it needs to run.
type Config struct {
	Buyers       float64 `help:"Who order, 1 to 1000000000. Default: ${default}." default:"1000000" placeholder:"NUMBER" least:"1" most:"1e9"`
	ProcessCores int     `help:"Processors of a process of the service, 1 to 1024. Default: ${default}." default:"2" placeholder:"NUMBER" least:"1" most:"1024"`
	NodeCores    int     `help:"Processors of a PostgreSQL node, 1 to 1024. Default: ${default}." default:"8" placeholder:"NUMBER" least:"1" most:"1024"`
	Connections  int     `help:"Connections that a PostgreSQL node takes (max_connections), 34 to 100000. Default: ${default}." default:"500" placeholder:"NUMBER" least:"34" most:"100000"`

	Seed    uint64           `kong:"-"`
	Scale   Scale            `kong:"-"`
	Process target.Process   `kong:"-"`
	OnRound func(rounds int) `kong:"-"` // how many have been played
}

// Scale is the size of a measurement.
type Scale struct {
	Rounds  int
	Window  time.Duration
	Callers [3]int // one, some and many: costs are from the first two, and predict the last
	SKUs    int    // of the work with many
}

// Full is the scale of published figures.
func Full() Scale {
	return Scale{Rounds: 10, Window: time.Second, Callers: [3]int{1, 64, 512}, SKUs: 1000}
}

// Quick is the scale of a first look.
func Quick() Scale {
	s := Full()
	s.Rounds = 1
	return s
}

// Tiny is the scale of tests.
func Tiny() Scale {
	return Scale{Rounds: 1, Window: 100 * time.Millisecond, Callers: [3]int{1, 8, 16}, SKUs: 20}
}

// Result is what was measured, and what follows.
type Result struct {
	experiment.Report
	config Config
	costs  map[string]Costs // by the name of the work; none: not all was measured
}

// Run measures. With an error it returns what was measured until then.
func Run(ctx context.Context, c Config) (result Result, err error) {
	on, err := crowd.OpenShop(ctx, servers.URLs{}, nil, "capacity_", app.Config{})
	if err != nil {
		return Result{}, err
	}
	on.About.Generator = "this program, closed loops over HTTP"
	s := &shop{Shop: on}
	defer func() { err = errors.Join(err, s.Close()) }()
	if err := s.open(ctx, c); err != nil {
		return Result{}, err
	}
	plays := experiment.Config{Seed: c.Seed, Progress: func(string) {}}
	result = Result{Report: plays.Begin("capacity", on.Servers), config: c}
	err = result.Ask(ctx, plays, []experiment.Asked{{Name: "measured", Ask: func(ctx context.Context) (experiment.Result, error) {
		return experiment.Run(ctx, s.question(c.Scale), experiment.Rules{
			Seed: c.Seed, WarmUp: c.Scale.Window, Window: c.Scale.Window, Rounds: c.Scale.Rounds, Progress: c.OnRound,
		}), nil
	}}})
	result.Environment.Measurement = append(result.Environment.Measurement, fmt.Sprintf("rounds: %d of %s for each work and number of callers, one process", c.Scale.Rounds, c.Scale.Window))
	audit, wrong := s.Audit(ctx)
	result.SKUs, result.Wrong = len(audit.SKUs), wrong
	if err == nil {
		err = result.conclude()
	}
	return result, err
}

// question has each work done by one caller and by some, and the checked works by many.
func (s *shop) question(scale Scale) experiment.Case {
	c := experiment.Case{Factors: []string{"work", "callers"}, Metrics: metrics()}
	for i, w := range works() {
		callers := scale.Callers[:]
		if i >= len(checked()) {
			callers = callers[:2]
		}
		for _, n := range callers {
			c.Contenders = append(c.Contenders, experiment.Contender{
				Name: at(w, n), Levels: []string{w.name, fmt.Sprint(n)}, Ours: true,
				Play: func(ctx context.Context, window time.Duration) (experiment.Sample, error) {
					return s.play(ctx, w, n, window)
				},
			})
		}
	}
	return c
}

// at is the name of a work with that many callers.
func at(w work, callers int) string { return fmt.Sprintf("%s, %d callers", w.name, callers) }

// checked are the works whose predictions are compared with measurements.
func checked() []work { return works()[:2] }

const (
	measured  = ", measured"
	predicted = ", predicted"
	// off is how far off a prediction may be.
	off = 0.25
)

// conclude computes the costs of each work, and compares their predictions with measurements, round by round.
func (r *Result) conclude() error {
	all, few, some, many := r.Results[0], r.config.Scale.Callers[0], r.config.Scale.Callers[1], r.config.Scale.Callers[2]
	check, costs := checkCase(all), make(map[string]Costs)
	for _, w := range works() {
		mean := func(callers int) experiment.Sample {
			s := experiment.Sample{}
			for _, name := range needed(w) {
				s[name] = all.Of(at(w, callers), name).Value
			}
			return s
		}
		c, err := costsOf(w, mean(few), mean(some))
		if err != nil {
			return err
		}
		costs[w.name] = c
	}
	for _, round := range all.Rounds {
		compared := experiment.Round{}
		for _, w := range checked() {
			c, err := costsOf(w, round[at(w, few)], round[at(w, some)])
			if err != nil {
				return err
			}
			compared[w.name+measured], compared[w.name+predicted] = round[at(w, many)], simulate(here(w, c, many), r.Seed)
		}
		check.Rounds = append(check.Rounds, compared)
	}
	r.Results, r.costs = []experiment.Result{check, all}, costs
	return nil
}

// here is a work on this machine, whose processors all parts share. Other programs make it slower.
func here(w work, c Costs, callers int) line {
	all := float64(runtime.NumCPU())
	slower := all / max(all-c.Others, all/10)
	var order Cost
	for _, p := range []part{process, locks, generator} {
		order.Order, order.Write = order.Order+c.Parts[p].Order*slower, order.Write+c.Parts[p].Write*slower
	}
	return line{
		writers: w.writers, order: order, write: Cost{c.Parts[database].Order * slower, c.Parts[database].Write * slower},
		wait: c.Parts[disk].Write, cores: runtime.NumCPU(), callers: callers,
	}
}

// checkCase compares predictions with measurements.
func checkCase(of experiment.Result) experiment.Result {
	c := experiment.Case{Factors: []string{"work", ""}, Metrics: metrics()[:4]}
	for _, w := range checked() {
		for _, which := range []string{measured, predicted} {
			c.Contenders = append(c.Contenders, experiment.Contender{Name: w.name + which, Levels: []string{w.name, strings.TrimPrefix(which, ", ")}})
		}
		times := experiment.Times(rate, w.name+predicted, w.name+measured)
		c.Targets = append(c.Targets,
			experiment.AtLeast(w.name+", predicted in parts of what was measured: no less", times, 1-off),
			experiment.AtMost(w.name+", predicted in parts of what was measured: no more", times, 1+off))
	}
	return experiment.Result{Name: "prediction and measurement", Case: c, Rules: of.Rules}
}
