package contenders

import (
	"context"
	"errors"
	"fmt"
	"time"

	"inventory/loadtest/internal/books"
	"inventory/loadtest/internal/experiment"
	"inventory/loadtest/internal/servers"
)

// Config says what to measure, where, and how long.
type Config struct {
	servers.URLs
	Scale     Scale
	Cases     []string // names; none: all
	Seed      uint64   // of the order of contenders in each round
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
	targets func(s Scale) []experiment.Target
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

// Check tells whether there are cases of these names.
func Check(names []string) error { return experiment.Check(Names(), names) }

// Run measures. What it has until ctx ends, or something fails, it returns beside the error.
func Run(ctx context.Context, c Config) (result Result, err error) {
	if err := Check(c.Cases); err != nil {
		return Result{}, err
	}
	load, err := servers.LookAround(ctx)
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
	environment.Measurement = append(environment.Measurement, load.String(),
		fmt.Sprintf("rounds: up to %d of %.3g s", c.Scale.Rounds, c.Scale.Window.Seconds()))
	result = Result{scale: c.Scale, Report: experiment.Report{
		Scenario: "contenders", Seed: c.Seed, Started: time.Now(), Environment: environment, Warnings: servers.Warnings(load, environment),
	}}
	var asked []experiment.Asked
	for _, q := range questions() {
		asked = append(asked, experiment.Asked{Name: q.name, Ask: func(ctx context.Context) (experiment.Result, error) {
			w := &world{
				servers: on.URLs, keep: c.DatabaseURL == "", scale: c.Scale.of(q), seed: c.Seed, worker: c.Worker, generator: generator, told: books.Ledger{},
			}
			return w.answer(ctx, q)
		}})
	}
	return result, result.Ask(ctx, asked, c.Cases, c.Progress)
}
