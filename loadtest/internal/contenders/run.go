// Package contenders measures how fast one hot SKU can be sold, and mixes and baskets of many, by the designs of others and by
// ours, inside the process and over HTTP.
//
// # Rules of measuring
//
// All designs write to one PostgreSQL that syncs every commit, to the tables of the service: each accepted order is a row under
// a random UUID. They lock on one Redis. The client, the servers and this program share the machine.
//
// Each round of a contender sells a SKU of its own, except in mixes. Rounds, ratios, intervals and verdicts
// are those of package experiment. Each case ends with the audit of all its SKUs, which compares the answers with the rows.
//
// # Designs
//
// A design is an honest best effort: one statement where it needs no more, enough connections, and waiters that are woken, or
// poll at a pace that suits their number. A refusal while there is stock is no sale.
//
// A case (cases.go) lets entrants (entrant.go) play: designs in this process (designs.go), services over HTTP (http.go), and
// several processes.
package contenders

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"inventory/loadtest/internal/experiment"
	"inventory/loadtest/internal/history"
	"inventory/loadtest/internal/report"
	"inventory/loadtest/internal/servers"
)

// Config says what to measure, where, and how long.
type Config struct {
	experiment.Config
	Lines []int // of baskets
}

// scale is how much is measured.
type scale struct {
	rounds   int           // at most
	window   time.Duration // of one contender in one round
	slices   int           // into which the window of one caller is cut
	warmUp   time.Duration // of fresh processes, and of mixes in each round
	callers  [2]int        // some, and many; over HTTP they are connections
	segments int           // of a SKU
	units    int           // of the SKU that is sold out
	skus     [2]int        // of the mixes: some, and many
}

func scaleOf(size experiment.Size) scale {
	if size == experiment.Tiny {
		return scale{1, 40 * time.Millisecond, 2, 20 * time.Millisecond, [2]int{3, 8}, 3, 30, [2]int{20, 30}}
	}
	s := scale{10, time.Second, 10, 300 * time.Millisecond, [2]int{64, 512}, 10, 1000, [2]int{1000, 10_000}}
	if size == experiment.Quick {
		s.rounds, s.window, s.warmUp = 1, 200*time.Millisecond, 100*time.Millisecond
	}
	return s
}

func (s scale) many() int { return s.callers[1] }

// besideName is the case whose table is in the README.
const besideName = "afternoon"

// question is a case.
type question struct {
	name    string
	ratio   string // what the ratios of its entrants are to
	about   string // the entrant that the summary names
	ask     func(ctx context.Context, w *world) error
	slices  bool // short rounds, and as many times more
	peers   int  // connections that peers inside this process share; 0: none are there
	targets []experiment.Target
}

// few connections of peers are two or three for each row, so that the next commit is under way while one is synced; many are for
// many SKUs.
const few, many = 32, 64

// questions are all cases in the order of the report.
func questions(s scale, lines []int) []question {
	// inParts are targets for what counts of one entrant, in parts of another one: a bound with some callers, and one with many; 0 is
	// none. A # in the name stands for the number of callers.
	inParts := func(what, of, to string, bounds ...float64) (all []experiment.Target) {
		for i, bound := range bounds {
			if n := s.callers[i]; bound > 0 {
				all = append(all, experiment.AtLeast(strings.ReplaceAll(what, "#", strconv.Itoa(n)), experiment.Times(counted, at(of, n), at(to, n)), bound))
			}
		}
		return all
	}
	toNoop := func(name string, some, most float64) []experiment.Target {
		return inParts(name+", # connections, in parts of noop", name, noopName, some, most)
	}
	toHot := func(mix string, some, most float64) []experiment.Target {
		return inParts(mix+" over HTTP, # connections, in parts of the hot SKU", overHTTPName+", "+mix, overHTTPName+", "+hotMix, some, most)
	}
	toAfternoon := func(mix string) []experiment.Target {
		return inParts(mix+" over HTTP, # connections, in parts of an afternoon's", overHTTPName+", "+mix, afternoonName+", "+mix, 2, 2)
	}
	var ofSizes []experiment.Target
	for _, n := range lines {
		bound := 1.2 // with many connections, small ones have more to share
		if n <= fewLines {
			bound = 1.5
		}
		mix := basketName(n, s.skus[0])
		ofSizes = append(ofSizes, inParts(mix+" over HTTP, # connections, in parts of plain SQL", overHTTPName+", "+mix, plainSQLName+", "+mix, 1.2, bound)...)
	}
	return []question{
		{name: "in process", ratio: inventoryName, about: inventoryName, ask: inProcess, peers: few, targets: slices.Concat( // where batches pay
			inParts("inventory, # callers, in parts of textbook segments", inventoryName, textbookName, 0, 15),
			inParts("inventory, # callers, in parts of Redis Lua", inventoryName, luaName, 0, 0.6),
		)},
		{name: "one caller", ratio: bareName, about: inventoryName, ask: oneCaller, peers: few, slices: true, targets: []experiment.Target{experiment.AtMost(
			"inventory, one caller, p50 in parts of a bare transaction's", experiment.Times(p50, at(inventoryName, 1), at(bareName, 1)), 1.2,
		)}},
		{
			name: "three processes", ratio: oneProcessName, about: threeProcessesName, ask: severalProcesses, peers: few, targets: append(
				inParts("three processes, in parts of one", threeProcessesName, oneProcessName, 0, 0.90),
				experiment.AtLeast("three processes, share of the one that sold least", experiment.Level(leastShare, at(threeProcessesName, s.many())), 0.2),
			),
		},
		{
			name: "mix", ratio: plainSQLName, about: inventoryName, ask: mixOfSKUs, peers: many,
			targets: slices.Concat(
				toHot(uniformName(s.skus[0]), 0.65, 0.65), toHot(zipfMix, 0, 0.8), toHot(hotAmidMix, 0, 0.8),
				toAfternoon(uniformName(s.skus[0])), toAfternoon(uniformName(s.skus[1])), toAfternoon(zipfMix), toAfternoon(hotAmidMix),
			),
		},
		{name: "baskets", ratio: plainSQLName, about: overHTTPName, ask: ofBaskets, peers: many, targets: ofSizes},
		{name: besideName, ratio: afternoonName, ask: besideAfternoon, targets: toAfternoon(uniformName(s.skus[0]))},
		{name: "over HTTP", ratio: noopName, about: inventoryName, ask: overHTTP, targets: slices.Concat(
			toNoop(inventoryName, 0.45, 0.60), toNoop(manyName, 1.5, 1.5), toNoop(embeddedName, 0.40, 0.60), toNoop(soldOutName, 1, 1),
		)},
	}
}

// Names are the names of all cases.
func Names() (names []string) {
	for _, q := range questions(scale{}, nil) {
		names = append(names, q.name)
	}
	return names
}

// Run measures. With an error it returns what was measured until then.
func Run(ctx context.Context, c Config) (report.Document, error) {
	s := scaleOf(c.Size)
	needs := servers.Needs{Durable: true, Generator: "this program"}
	r, err := experiment.Compare(ctx, c.Config, "contenders", needs, func(on *servers.Servers) (asked []experiment.Asked, err error) {
		on.About.Add("measurement", fmt.Sprintf("rounds: up to %d of %.3g s", s.rounds, s.window.Seconds()))
		for _, q := range questions(s, c.Lines) {
			asked = append(asked, experiment.Asked{Name: q.name, Ask: func(ctx context.Context) (experiment.Result, error) {
				w := &world{Config: c, scale: s, postmaster: on.PostmasterPID, redisPID: on.RedisPID, expected: history.Expected{}}
				w.URLs = on.URLs
				if q.slices {
					w.scale.rounds, w.scale.window = s.rounds*s.slices, s.window/time.Duration(s.slices)
				}
				return w.answer(ctx, q)
			}})
		}
		return asked, nil
	})
	for _, result := range r.Results {
		if result.Name == besideName {
			r.Sections = append([]report.Section{beside(result, s)}, r.Sections...)
		}
	}
	return r.Document, err
}
