package contenders

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"inventory/loadtest/internal/books"
	"inventory/loadtest/internal/report"
	"inventory/loadtest/internal/servers"
)

// Config says what to measure, where, and how long.
type Config struct {
	servers.URLs
	Scale     Scale
	Cases     []string // names; none: all
	Generator string   // GeneratorWrk or GeneratorLab; "" is wrk where it is on PATH
	// Worker is the command line of a process that does Work.
	Worker []string
	// Progress is told of each case as it begins.
	Progress func(name string)
}

// question is a case.
type question struct {
	name    string
	http    bool
	ratio   string // what the ratios of its entries are to
	about   string // the entrant that tells most
	ask     func(ctx context.Context, w *world) ([]*entrant, error)
	slices  bool // short rounds, as many more
	targets func(c Case, s Scale) []report.Target
}

// questions are all cases, in the order in which they are told.
func questions() []question {
	return []question{
		{name: "in process", ratio: inventoryName, about: inventoryName, ask: inProcess, targets: inProcessTargets},
		{name: "one caller", ratio: bareName, about: inventoryName, ask: oneCaller, slices: true, targets: oneCallerTargets},
		{name: "three processes", ratio: oneProcessName, about: threeProcessesName, ask: severalProcesses, targets: severalProcessesTargets},
		{name: "over HTTP", http: true, ratio: noopName, about: inventoryName, ask: overHTTP, targets: overHTTPTargets},
		{name: "replays", http: true, ratio: noReplaysName, about: replaysName, ask: replays, targets: replaysTargets},
		{name: "terms", http: true, ratio: plainName, about: termsName, ask: underTerms, targets: termsTargets},
		{name: "bot", http: true, ratio: aloneName, about: botName, ask: besideBot, targets: botTargets},
		{name: "many orders", http: true, ratio: emptyName, about: randomName, ask: manyOrders, targets: manyOrdersTargets}, // leaves most behind
	}
}

// Names are those of all cases.
func Names() (names []string) {
	for _, q := range questions() {
		names = append(names, q.name)
	}
	return names
}

// choose returns the cases of these names.
func choose(names []string) ([]question, error) {
	for _, name := range names {
		if !slices.Contains(Names(), name) {
			return nil, fmt.Errorf("there is no case %q; there are %q", name, Names())
		}
	}
	all := questions()
	if len(names) == 0 {
		return all, nil
	}
	return slices.DeleteFunc(all, func(q question) bool { return !slices.Contains(names, q.name) }), nil
}

// Check tells whether there are cases of these names.
func Check(names []string) error {
	_, err := choose(names)
	return err
}

// Run measures. What it has until ctx ends, or something fails, it returns beside the error.
func Run(ctx context.Context, c Config) (result Result, err error) {
	chosen, err := choose(c.Cases)
	if err != nil {
		return Result{}, err
	}
	generator, err := chooseGenerator(c.Generator)
	if err != nil {
		return Result{}, err
	}
	on, err := servers.Open(ctx, c.URLs)
	if err != nil {
		return Result{}, err
	}
	defer func() { err = errors.Join(err, on.Stop()) }()
	environment, err := on.Durable(ctx)
	if err != nil {
		return Result{}, err
	}
	environment.Target, environment.Generator = on.Name, generator.name()
	environment.Measurement = append(environment.Measurement, fmt.Sprintf("rounds: %d of %.3g s", c.Scale.Rounds, c.Scale.Window.Seconds()))
	result = Result{Rounds: c.Scale.Rounds, Window: c.Scale.Window, Started: time.Now(), Environment: environment}
	defer func() { result.Elapsed = time.Since(result.Started) }()
	for _, q := range chosen {
		c.Progress(q.name)
		w := &world{servers: on.URLs, keep: c.DatabaseURL == "", scale: c.Scale, worker: c.Worker, generator: generator, told: books.Ledger{}}
		if err := result.ask(ctx, w, q); err != nil {
			return result, err
		}
	}
	return result, nil
}

// ask adds a case.
func (r *Result) ask(ctx context.Context, w *world, q question) error {
	measured, err := w.answer(ctx, q)
	r.Interrupted = ctx.Err() != nil
	if measured.Name != "" {
		r.Cases = append(r.Cases, measured)
	}
	switch {
	case r.Interrupted: // which says why, where err is what came of it
		return fmt.Errorf("the comparison was stopped: %w", context.Cause(ctx))
	case err != nil:
		return fmt.Errorf("case %q: %w", q.name, err)
	}
	return nil
}
