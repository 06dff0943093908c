package contenders

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"inventory/loadtest/internal/books"
	"inventory/loadtest/internal/compare"
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
	ask     func(ctx context.Context, w *world) ([]*entrant, error)
	slices  bool // short rounds, as many more
	targets func(c Case, s Scale) []compare.Target
}

// questions are all cases, in the order in which they are told.
func questions() []question {
	return []question{
		{name: "in process", ratio: inventoryName, ask: inProcess, targets: inProcessTargets},
		{name: "one caller", ratio: bareName, ask: oneCaller, slices: true, targets: oneCallerTargets},
		{name: "three processes", ratio: oneProcessName, ask: severalProcesses, targets: severalProcessesTargets},
		{name: "over HTTP", http: true, ratio: noopName, ask: overHTTP, targets: overHTTPTargets},
		{name: "replays", http: true, ratio: noReplaysName, ask: replays, targets: replaysTargets},
		{name: "terms", http: true, ratio: plainName, ask: underTerms, targets: termsTargets},
		{name: "bot", http: true, ratio: aloneName, ask: besideBot, targets: botTargets},
		{name: "many orders", http: true, ratio: emptyName, ask: manyOrders, targets: manyOrdersTargets}, // leaves most behind
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

// Run measures.
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
	result.Environment = Environment{Generator: generator.name(), Rounds: c.Scale.Rounds, WindowSeconds: c.Scale.Window.Seconds()}
	if result.Environment.Environment, err = on.LookAround(ctx); err != nil {
		return Result{}, err
	}
	for _, q := range chosen {
		c.Progress(q.name)
		w := &world{servers: on.URLs, keep: c.DatabaseURL == "", scale: c.Scale, worker: c.Worker, generator: generator, told: books.Ledger{}}
		measured, err := w.answer(ctx, q)
		if err != nil {
			return Result{}, fmt.Errorf("case %q: %w", q.name, err)
		}
		result.Cases = append(result.Cases, measured)
	}
	return result, nil
}
