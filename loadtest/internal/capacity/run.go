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
	Told    func(rounds int) `kong:"-"` // how many have been played
}

// Scale is how much is measured.
type Scale struct {
	Rounds  int
	Window  time.Duration
	Callers [3]int // one, some and many: the first two tell what orders cost, and that predicts the last
	SKUs    int    // that are sold beside each other
}

// Full is the scale of figures to be told.
func Full() Scale {
	return Scale{Rounds: 10, Window: time.Second, Callers: [3]int{1, 64, 512}, SKUs: 1000}
}

// Quick is that of a first look.
func Quick() Scale {
	s := Full()
	s.Rounds = 1
	return s
}

// Tiny is that of a test, which only wants to know that all of it works.
func Tiny() Scale {
	return Scale{Rounds: 1, Window: 100 * time.Millisecond, Callers: [3]int{1, 8, 16}, SKUs: 20}
}

// Result is what was measured, and what follows.
type Result struct {
	experiment.Report
	config Config
	costs  map[string]Costs // by the name of the work; none: not all was measured
}

// Run measures. What it has until ctx ends, or something fails, it returns beside the error.
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
			Seed: c.Seed, WarmUp: c.Scale.Window, Window: c.Scale.Window, Rounds: c.Scale.Rounds, Progress: c.Told,
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

// question has each work done by one caller, by some, and those of the check by many.
func (s *shop) question(scale Scale) experiment.Case {
	c := experiment.Case{Factors: []string{"work", "callers"}, Metrics: metrics()}
	for _, w := range works() {
		for _, callers := range scale.Callers {
			if callers == scale.Callers[2] && !w.checked() {
				continue
			}
			c.Contenders = append(c.Contenders, experiment.Contender{
				Name: at(w, callers), Levels: []string{w.name, fmt.Sprint(callers)}, Ours: true,
				Play: func(ctx context.Context, window time.Duration) (experiment.Sample, error) {
					return s.play(ctx, w, callers, window)
				},
			})
		}
	}
	return c
}

// at is the name of a work that so many do.
func at(w work, callers int) string { return fmt.Sprintf("%s, %d callers", w.name, callers) }

// checked tells whether a prediction of a work is held against the machine.
func (w work) checked() bool { return w.name == hotName || w.name == manyName }

const (
	measured  = ", measured"
	predicted = ", predicted"
	// off is by how much a prediction may be.
	off = 0.25
)

// conclude works out what each work costs, and holds what that predicts against what was measured, round by round.
func (r *Result) conclude() error {
	all, few, some, many := r.Results[0], r.config.Scale.Callers[0], r.config.Scale.Callers[1], r.config.Scale.Callers[2]
	check, costs := checkCase(all), make(map[string]Costs)
	for _, round := range all.Rounds {
		held := experiment.Round{}
		for _, w := range works() {
			c, err := costsOf(w, round[at(w, few)], round[at(w, some)])
			if err != nil {
				return err
			}
			if w.checked() {
				held[w.name+measured], held[w.name+predicted] = round[at(w, many)], simulate(here(w, c, many), r.Seed)
			}
		}
		check.Rounds = append(check.Rounds, held)
	}
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
	r.Results, r.costs = []experiment.Result{check, all}, costs
	return nil
}

// here is a work on this machine, whose processors all parts share. What is busy with something else is missing to each of them.
func here(w work, c Costs, callers int) line {
	all := float64(runtime.NumCPU())
	slower := all / max(all-c.Others, all/10)
	times := func(c Cost) Cost { return Cost{c.Order * slower, c.Write * slower} }
	return line{
		writers: w.writers, order: times(c.sum(process, locks, generator)), write: times(c.Parts[database]), wait: c.Parts[disk].Write,
		cores: runtime.NumCPU(), callers: callers,
	}
}

// checkCase holds predictions against measurements.
func checkCase(of experiment.Result) experiment.Result {
	c := experiment.Case{Factors: []string{"work", ""}, Metrics: metrics()[:4]}
	for _, w := range works() {
		if !w.checked() {
			continue
		}
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
