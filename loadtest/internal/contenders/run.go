package contenders

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"inventory/loadtest/internal/books"
	"inventory/loadtest/internal/experiment"
	"inventory/loadtest/internal/report"
	"inventory/loadtest/internal/servers"
)

// Config says what to measure, where, and how long. Its worker does Work.
type Config struct {
	experiment.Config
	Scale     Scale
	Generator string // GeneratorWrk or GeneratorLab; "" is wrk where it is on PATH
}

// Scale is how much time a measurement takes.
type Scale struct {
	Rounds   int           // at most
	Window   time.Duration // of one contender in one round; wrk takes whole seconds
	Slices   int           // into which the window of one caller is cut
	WarmUp   time.Duration // of fresh processes
	Callers  [2]int        // at once: some, and many; over HTTP they are connections
	Orders   int           // that are in the table already
	Segments int           // of a SKU
	Units    int           // of the SKU that is sold out
	SKUs     [2]int        // of the mixes: some, and many
}

// Full is the scale of figures to be told.
func Full() Scale {
	return Scale{
		Rounds: 10, Window: time.Second, Slices: 10, WarmUp: 300 * time.Millisecond, Callers: [2]int{64, 512}, Orders: 5_000_000, Segments: 10,
		Units: 1000, SKUs: [2]int{1000, 10_000},
	}
}

// Quick is that of a first look.
func Quick() Scale {
	s := Full()
	s.Rounds, s.Window, s.WarmUp, s.Orders = 1, 200*time.Millisecond, 100*time.Millisecond, 50_000
	return s
}

// Tiny is that of a test, which only wants to know that all of it works.
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

// bots are those of many connections that a bot has: one in sixteen, and one at least for each thread of wrk.
func (s Scale) bots() int { return max(s.many()/16, wrkThreads) }

// question is a case.
type question struct {
	name    string
	http    bool
	ratio   string // what the ratios of its entries are to
	about   string // the entrant that tells most
	ask     func(ctx context.Context, w *world) ([]*entrant, error)
	slices  bool // short rounds, as many more
	rounds  int  // times as many rounds, where a target is near what is expected; 0: no more
	claims  []claim
	targets func(s Scale) []experiment.Target // beside the claims; nil: none
	// without tells why the case is left out here; "": it is not, nor if this is nil.
	without func(ctx context.Context, on servers.URLs) (why string, err error)
}

// questions are all cases, in the order in which they are told.
func questions() []question {
	many := func(bound float64) [2]float64 { return [2]float64{0, bound} }
	toNoop := func(name string, bounds ...float64) claim {
		return claim{name + ", # connections, in parts of noop", name, noopName, [2]float64(bounds)}
	}
	toOneRedis := func(name string) claim {
		return claim{name + ", # callers, in parts of one Redis", name, oneRedisName, [2]float64{0.95, 0.95}}
	}
	return []question{
		{name: "in process", ratio: inventoryName, about: inventoryName, ask: inProcess, claims: []claim{ // where batches pay
			{"inventory, # callers, in parts of textbook segments", inventoryName, textbookName, many(20)},
			{"inventory, # callers, in parts of Redis Lua", inventoryName, luaName, many(1)},
		}},
		{name: "one caller", ratio: bareName, about: inventoryName, ask: oneCaller, slices: true, targets: oneCallerTargets},
		{
			name: "three processes", ratio: oneProcessName, about: threeProcessesName, ask: severalProcesses, targets: shareTargets,
			claims: []claim{{"three processes, in parts of one", threeProcessesName, oneProcessName, many(0.90)}},
		},
		{
			name: redisCase, ratio: oneRedisName, about: clusterName, ask: kindsOfRedis, rounds: 3,
			claims: []claim{toOneRedis(sentinelName), toOneRedis(clusterName)},
		},
		{name: citusCase, ratio: onPostgresName, about: onCitus(fewShards), ask: nodes, targets: nodesTargets, without: withoutCitus},
		{name: mixCase, http: true, ratio: plainSQLName + ", 64 connections", about: inventoryName, ask: mixOfSKUs, targets: mixTargets},
		{name: "over HTTP", http: true, ratio: noopName, about: inventoryName, ask: overHTTP, claims: []claim{
			toNoop(inventoryName, 0.45, 0.60), toNoop(manyName, 1.5, 1.5), toNoop(embeddedName, 0.40, 0.65), toNoop(soldOutName, 1, 1),
		}},
		{name: "replays", http: true, ratio: noReplaysName, about: replaysName, ask: replays, claims: []claim{
			{"1% replays, answers in parts of those without", replaysName, noReplaysName, many(0.90)},
		}},
		{name: "terms", http: true, ratio: plainName, about: termsName, ask: underTerms, claims: []claim{
			{"limit, window and reservations, in parts of plain deductions", termsName, plainName, many(0.80)},
		}},
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

// Run measures. What it has until ctx ends, or something fails, it returns beside the error.
func Run(ctx context.Context, c Config) (result Result, err error) {
	if err := experiment.Check(Names(), c.Cases); err != nil {
		return Result{}, err
	}
	generator, err := chooseGenerator(c.Generator)
	if err != nil {
		return Result{}, err
	}
	on, err := servers.Prepare(ctx, c.URLs, servers.Needs{Durable: true, Generator: generator.name()})
	if err != nil {
		return Result{}, err
	}
	defer func() { err = errors.Join(err, on.Close()) }()
	on.About.Measurement = append(on.About.Measurement, fmt.Sprintf("rounds: up to %d of %.3g s", c.Scale.Rounds, c.Scale.Window.Seconds()))
	result = Result{scale: c.Scale, Report: c.Begin("contenders", on)}
	var asked []experiment.Asked
	for _, q := range questions() {
		asked = append(asked, experiment.Asked{Name: q.name, Ask: func(ctx context.Context) (experiment.Result, error) {
			if q.without != nil {
				if why, err := q.without(ctx, on.URLs); why != "" || err != nil {
					result.LeftOut = append(result.LeftOut, why)
					return experiment.Result{}, err
				}
			}
			w := &world{Config: c, keep: c.DatabaseURL == "", generator: generator, told: books.Ledger{}}
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

// Document is the result as it is told.
func (r Result) Document() (report.Document, error) {
	d := r.Report.Document()
	entries := map[bool][]map[string]any{true: {}, false: {}} // by whether they are over HTTP
	for _, q := range questions() {
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
		"in_process": entries[false], "http": entries[true], "rows": r.Targets(), "skus_audited": r.Audited(),
		"rounds": r.scale.Rounds, "window_seconds": r.scale.Window.Seconds(),
	})
}
