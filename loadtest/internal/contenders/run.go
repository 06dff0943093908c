package contenders

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"inventory/loadtest/internal/experiment"
	"inventory/loadtest/internal/reconcile"
	"inventory/loadtest/internal/report"
	"inventory/loadtest/internal/servers"
	"inventory/loadtest/internal/target"
)

// Config says what to measure, where, and how long. Its worker does Work.
type Config struct {
	experiment.Config
	Scale   Scale
	Process target.Process // that serves
}

// Scale is the size of a measurement.
type Scale struct {
	Rounds   int           // at most
	Window   time.Duration // of one contender in one round
	Slices   int           // into which the window of one caller is cut
	WarmUp   time.Duration // of fresh processes
	Callers  [2]int        // some, and many; over HTTP they are connections
	Orders   int           // in the full tables
	Segments int           // of a SKU
	Units    int           // of the SKU that is sold out
	SKUs     [2]int        // of the mixes: some, and many
}

// Full is the scale of published figures.
func Full() Scale {
	return Scale{
		Rounds: 10, Window: time.Second, Slices: 10, WarmUp: 300 * time.Millisecond, Callers: [2]int{64, 512}, Orders: 5_000_000, Segments: 10,
		Units: 1000, SKUs: [2]int{1000, 10_000},
	}
}

// Quick is the scale of a first look.
func Quick() Scale {
	s := Full()
	s.Rounds, s.Window, s.WarmUp, s.Orders = 1, 200*time.Millisecond, 100*time.Millisecond, 50_000
	return s
}

// Tiny is the scale of tests.
func Tiny() Scale {
	return Scale{
		Rounds: 1, Window: 40 * time.Millisecond, Slices: 2, WarmUp: 20 * time.Millisecond, Callers: [2]int{3, 8}, Orders: 500, Segments: 3,
		Units: 30, SKUs: [2]int{5, 20},
	}
}

// of is the scale of a case.
func (s Scale) of(q question) Scale {
	if q.slices {
		s.Rounds, s.Window = s.Rounds*s.Slices, s.Window/time.Duration(s.Slices)
	}
	s.Rounds *= max(1, q.rounds)
	return s
}

func (s Scale) many() int { return s.Callers[1] }

// question is a case.
type question struct {
	name    string
	http    bool
	ratio   string // what the ratios of its entries are to
	about   string // the entrant that the summary names
	ask     func(ctx context.Context, w *world) ([]*entrant, error)
	slices  bool // short rounds, and as many times more
	rounds  int  // times as many rounds, where a target is near the expected value; 0: no more
	targets []experiment.Target
}

// questions are all cases in the order of the report.
func questions(s Scale) []question {
	toNoop := func(name string, some, many float64) []experiment.Target {
		return s.inParts(name+", # connections, in parts of noop", name, noopName, some, many)
	}
	toOneRedis := func(name string) []experiment.Target {
		return s.inParts(name+", # callers, in parts of one Redis", name, oneRedisName, 0.95, 0.95)
	}
	return []question{
		{name: "in process", ratio: inventoryName, about: inventoryName, ask: inProcess, targets: slices.Concat( // where batches pay
			s.inParts("inventory, # callers, in parts of textbook segments", inventoryName, textbookName, 0, 20),
			s.inParts("inventory, # callers, in parts of Redis Lua", inventoryName, luaName, 0, 1),
		)},
		{name: "one caller", ratio: bareName, about: inventoryName, ask: oneCaller, slices: true, targets: oneCallerTargets()},
		{
			name: "three processes", ratio: oneProcessName, about: threeProcessesName, ask: severalProcesses,
			targets: append(s.inParts("three processes, in parts of one", threeProcessesName, oneProcessName, 0, 0.90), s.shareTarget()),
		},
		{
			name: redisCase, ratio: oneRedisName, about: clusterName, ask: kindsOfRedis, rounds: 3,
			targets: slices.Concat(toOneRedis(sentinelName), toOneRedis(clusterName)),
		},
		{name: mixCase, http: true, ratio: plainSQLName + ", 64 connections", about: inventoryName, ask: mixOfSKUs, targets: mixTargets(s)},
		{name: "over HTTP", http: true, ratio: noopName, about: inventoryName, ask: overHTTP, targets: slices.Concat(
			toNoop(inventoryName, 0.45, 0.60), toNoop(manyName, 1.5, 1.5), toNoop(embeddedName, 0.40, 0.65), toNoop(soldOutName, 1, 1),
		)},
		{name: "many orders", http: true, ratio: emptyName, about: randomName, ask: manyOrders, targets: manyOrdersTargets(s)}, // leaves most behind
	}
}

// Names are the names of all cases.
func Names() (names []string) {
	for _, q := range questions(Scale{}) {
		names = append(names, q.name)
	}
	return names
}

// Run measures. With an error it returns what was measured until then.
func Run(ctx context.Context, c Config) (result Result, err error) {
	if err := experiment.Check(Names(), c.Cases); err != nil {
		return Result{}, err
	}
	on, err := servers.Prepare(ctx, c.URLs, servers.Needs{Durable: true, Generator: "this program"})
	if err != nil {
		return Result{}, err
	}
	defer func() { err = errors.Join(err, on.Close()) }()
	on.About.Measurement = append(on.About.Measurement, fmt.Sprintf("rounds: up to %d of %.3g s", c.Scale.Rounds, c.Scale.Window.Seconds()))
	result = Result{scale: c.Scale, Report: c.Begin("contenders", on)}
	var asked []experiment.Asked
	for _, q := range questions(c.Scale) {
		asked = append(asked, experiment.Asked{Name: q.name, Ask: func(ctx context.Context) (experiment.Result, error) {
			w := &world{Config: c, postmaster: on.PostmasterPID, redisPID: on.RedisPID, expected: reconcile.Expected{}}
			w.URLs, w.Scale = on.URLs, c.Scale.of(q)
			return w.answer(ctx, q)
		}})
	}
	err = result.Ask(ctx, c.Config, asked)
	return result, err
}

// Result is what a run measured.
type Result struct {
	experiment.Report
	scale Scale
}

// Document is the report.
func (r Result) Document() (report.Document, error) {
	d := r.Report.Document()
	entries := map[bool][]map[string]any{true: {}, false: {}} // by whether they are over HTTP
	for _, q := range questions(r.scale) {
		one := r.Result(q.name)
		if one == nil {
			continue
		}
		for _, e := range one.Entries() {
			e["case"] = q.name
			if ratio, has := e["ratio"]; has {
				e["ratio_to"] = q.ratio
				if q.ratio == noopName {
					e["ratio_to_noop"] = ratio
				}
			}
			http := q.http && (q.name != mixCase || strings.Contains(fmt.Sprint(e["name"]), overHTTPName))
			entries[http] = append(entries[http], e)
		}
	}
	return d, d.SetOwn(map[string]any{
		"in_process": entries[false], "http": entries[true], "skus_audited": r.Audited(),
		"rounds": r.scale.Rounds, "window_seconds": r.scale.Window.Seconds(),
	})
}
