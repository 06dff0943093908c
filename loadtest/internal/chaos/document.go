// Package chaos lets the whole service sell amid faults, and compares the answers that callers got with the rows.
//
// Three processes run on a PostgreSQL that syncs its commits and a Redis, over networks that fail. Callers do a mixed load, and a
// caller without an answer in time hangs up and asks another process. Faults come one after the other, by a seed; under Sentinel
// and in a Redis Cluster the servers fail, and their network does not. After each round all faults are over, and package history
// checks the answers against the rows.
package chaos

import (
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"time"

	"inventory/loadtest/internal/gauges"
	"inventory/loadtest/internal/history"
	"inventory/loadtest/internal/report"
	"inventory/loadtest/internal/target"
)

// Config says what to play: the flags of the scenario, and what it needs to run.
type Config struct {
	Seed   uint64        `help:"Decides the faults and what is asked for; each further round has the next. 0 draws one. Default: ${default}." default:"0" placeholder:"NUMBER"`
	Rounds int           `help:"Rounds at most, 0 to 100000. Default: 8, or with --for as many as there is time for." default:"0" placeholder:"NUMBER" least:"0" most:"100000"`
	Length time.Duration `help:"How long load is sent in a round, 2s to 1h. Default: ${default}." default:"15s" placeholder:"DURATION" least:"2s" most:"1h"`
	For    time.Duration `help:"No round begins later than this. Default: none does not." placeholder:"DURATION" least:"0s" most:"87600h"`
	Lock   string        `help:"Kind of lock of the segments: reentrant, fair or none. Default: ${default}." default:"reentrant" enum:"reentrant,fair,none" placeholder:"KIND"`
	Redis  string        `help:"Where the locks are: one server, one under sentinel with two replicas, or a cluster. Default: ${default}." default:"one" enum:"one,sentinel,cluster" placeholder:"KIND"`
	Faults []string      `name:"fault" sep:";" help:"Only the kinds of faults of these names, as reports tell them, separated by semicolons; none is a run without faults, which also tells what grows. Default: all." placeholder:"NAME"`

	Process  target.Process `kong:"-"`
	Progress io.Writer      `kong:"-"`
}

// The kinds of Redis that a run can have.
const (
	OneRedis      = "one"      // one server, behind a network that fails
	UnderSentinel = "sentinel" // a master with two replicas, and three Sentinels
	Cluster       = "cluster"  // three masters, each with a replica
)

// None is the fault that is none.
const None = "none"

// defaultRounds are played if nothing else is said, and mostRounds if time ends a run.
const (
	defaultRounds = 8
	mostRounds    = 100_000
)

// The measure of a run.
const (
	processes   = 3
	callers     = 48
	sampleEvery = 100 * time.Millisecond
)

// run is a run, and what came of it.
type run struct {
	Config
	report.Document
	rounds []Round
	read   *gauges.Readings // of a run without faults; nil: of another
}

// Round is what came of a round.
type Round struct {
	Seed       uint64
	Operations int
	Attempts   int
	Accepted   int64
	Rate       []float64 // of accepted orders a second, in each tenth of a second since it began
	Faults     []Happened
	Found      history.Findings
}

// Happened is a fault that has happened, in seconds since the round began.
type Happened struct {
	Kind string
	What string
	From float64
	To   float64
	// Recovery is how many seconds after its end half of what was sold before was sold again; no number: not in this round.
	Recovery float64
}

// tell adds the rounds to the report.
func (r *run) tell(on report.Environment) {
	r.Scenario, r.Document.Seed, r.Environment = "chaos", r.Config.Seed, on
	var operations, faults, broken int
	var accepted int64
	for _, round := range r.rounds {
		accepted, operations, faults, broken = accepted+round.Accepted, operations+round.Operations, faults+len(round.Faults), broken+len(round.Found.Violations)
		for _, broken := range round.Found.Violations {
			r.Wrong = append(r.Wrong, fmt.Sprintf("seed %d: %s", round.Seed, broken))
		}
		if len(round.Found.Violations) > 0 {
			r.Wrong = append(r.Wrong, fmt.Sprintf("play it again: go run ./loadtest chaos --seed %d --rounds 1 --length %s --lock %s --redis %s",
				round.Seed, r.Length, r.Lock, r.Redis))
		}
	}
	verdict := "No promise was broken."
	if broken > 0 {
		verdict = fmt.Sprintf("Promises were broken %s.", report.Count(broken, "time"))
	}
	r.Summary = []string{verdict, fmt.Sprintf("%d callers did %s on %d processes in %s, amid %s.",
		callers, report.Count(operations, "operation"), processes, report.Count(len(r.rounds), "round"), report.Count(faults, "fault"))}
	r.Sections = []report.Section{r.promisesSection(), r.courseSection(), r.roundsSection()}
	if r.read == nil {
		r.Sections = append(r.Sections, r.recoverySection())
	} else {
		r.Sections = append(append(r.Sections, growth(*r.read, accepted)), r.read.Sections(accepted)...)
	}
}

// promisesSection has each promise, how often it was tried, and whether it held.
func (r *run) promisesSection() report.Section {
	tried, broken := make(map[string]int), make(map[string]int)
	for _, round := range r.rounds {
		for name, n := range round.Found.Tried {
			tried[name] += n
		}
		for _, v := range round.Found.Violations {
			broken[v.Name]++
		}
	}
	table := report.Table{Columns: []string{"promise", "tried", "held"}}
	for _, p := range history.Promises() {
		times, held := tried[p.Names[0]], report.Good+" yes"
		if times == 0 {
			held = report.Open + " not tried"
		}
		for _, name := range p.Names {
			if n := broken[name]; n > 0 {
				held = fmt.Sprintf("%s %s: %s", report.Bad, name, report.Count(n, "time"))
			}
		}
		table.Rows = append(table.Rows, []string{p.Says, report.Number(float64(times)), held})
	}
	return report.Section{Name: "promises", Table: &table}
}

func (r *run) roundsSection() report.Section {
	table := report.Table{Columns: []string{"seed", "operations", "attempts", "accepted", "faults", "broken promises"}}
	for _, round := range r.rounds {
		table.Add(fmt.Sprint(round.Seed), float64(round.Operations), float64(round.Attempts), float64(round.Accepted),
			float64(len(round.Faults)), float64(len(round.Found.Violations)))
	}
	return report.Section{Name: "rounds", Table: &table}
}

// recoverySection has how soon the sale continued, by kind of fault.
func (r *run) recoverySection() report.Section {
	times := make(map[string][]float64)
	for _, round := range r.rounds {
		for _, f := range round.Faults {
			times[f.Kind] = append(times[f.Kind], f.Recovery)
		}
	}
	table := report.Table{Columns: []string{"fault", "times", "median s", "longest s", "round over before"}}
	for _, kind := range slices.Sorted(maps.Keys(times)) {
		known, longest := slices.DeleteFunc(slices.Clone(times[kind]), math.IsNaN), math.NaN()
		if len(known) > 0 {
			longest = slices.Max(known)
		}
		table.Add(kind, float64(len(times[kind])), report.Median(known), longest, float64(len(times[kind])-len(known)))
	}
	return report.Section{
		Name: "recovery", Table: &table,
		Notes: []string{"From the end of a fault until half of what was sold before was sold again, in steps of a tenth of a second."},
	}
}

// mostPlots bounds the rounds that are drawn: the first ones.
const mostPlots = 6

// courseSection has the faults in the order in which they happened, and draws them over what was sold.
func (r *run) courseSection() report.Section {
	section, table := report.Section{Name: "course"}, report.Table{Columns: []string{"seed", "from s", "to s", "recovered after s", "fault"}}
	for n, round := range r.rounds {
		for _, f := range round.Faults {
			table.Rows = append(table.Rows, []string{fmt.Sprint(round.Seed), report.Number(f.From), report.Number(f.To), report.Number(f.Recovery), f.What})
		}
		if n < mostPlots {
			section.Plots = append(section.Plots, round.plot())
		}
	}
	if len(table.Rows) > 0 { // a run without faults is drawn all the same
		section.Table = &table
	}
	return section
}

// plot draws what was sold over time, and the faults.
func (r Round) plot() report.Plot {
	line := report.Series{Name: "accepted"}
	for i, rate := range r.Rate {
		line.X, line.Y = append(line.X, float64(i+1)*sampleEvery.Seconds()), append(line.Y, rate)
	}
	plot := report.Plot{
		Name: fmt.Sprint("round-", r.Seed), Title: fmt.Sprintf("Seed %d: orders accepted a second, and faults", r.Seed), Kind: report.Lines,
		X: report.Axis{Label: "seconds"}, Y: report.Axis{Label: "accepted a second"}, Series: []report.Series{line},
	}
	for _, f := range r.Faults {
		plot.Marks = append(plot.Marks, report.Mark{X: f.From, To: f.To, Label: f.What})
	}
	return plot
}

// The bounds of growth. Before they are that long, runs are not held to them: a service still fills what it keeps for good, and
// the workers of its SKUs still start.
const (
	mostMemory         = 1.1 // of the last quarter, in parts of the third's: the second half
	leastForMemory     = 5 * time.Minute
	mostGoroutines     = 1.25 // of the last quarter, in parts of the first's
	leastForGoroutines = time.Minute
	quarters           = 4
	megabyte           = 1e6
)

// growth is what only time brings, and only a run without faults shows: memory and goroutines that are not given back, and tables
// that grow faster than what is in them.
func growth(read gauges.Readings, accepted int64) (s report.Section) {
	s.Name, s.Table = "growth", &report.Table{Columns: []string{"", "first quarter", "third", "last", "last in parts of the first"}}
	took := read.Took()
	row := func(name string, q gauges.Quantity, unit float64) (first, third, last float64) {
		first, third, last = quarter(read, q, 0), quarter(read, q, 2), quarter(read, q, quarters-1)
		s.Table.Add(name, first/unit, third/unit, last/unit, report.Ratio(last, first))
		return first, third, last
	}
	if _, third, last := row("resident memory, MB", gauges.Memory, megabyte); took >= leastForMemory {
		s.Targets = append(s.Targets, report.AtMost("resident memory of the last quarter, in parts of the third's", report.Ratio(last, third), mostMemory))
	}
	if first, _, last := row("goroutines", gauges.Goroutines, 1); took >= leastForGoroutines {
		s.Targets = append(s.Targets, report.AtMost("goroutines of the last quarter, in parts of the first's", report.Ratio(last, first), mostGoroutines))
	}
	if tables, indexes := read.Grown(gauges.TableBytes), read.Grown(gauges.IndexBytes); !math.IsNaN(tables) {
		s.Notes = append(s.Notes, fmt.Sprintf("tables grew by %s bytes for each accepted order, indexes by %s",
			report.Number(report.Ratio(tables, float64(accepted))), report.Number(report.Ratio(indexes, float64(accepted)))))
	}
	if took < leastForMemory {
		s.Notes = append(s.Notes, fmt.Sprintf("runs of less than %v are not held to a memory, and those of less than %v not to goroutines", leastForMemory, leastForGoroutines))
	}
	return s
}

// quarter is the median of a quantity in a quarter of the readings, which a peak or the garbage collector's saw does not bend; no
// number if it is not known.
func quarter(read gauges.Readings, q gauges.Quantity, n int) float64 {
	_, values := read.Points(q)
	return report.Median(values[n*len(values)/quarters : (n+1)*len(values)/quarters])
}
