// Package lockbench measures one lock of each kind (package kinds) under crowds of callers. Package experiment plays the
// rounds of a crowd, and docs/LAB.md has the rules.
//
// The callers of a crowd are in processes of their own, which are warm. Under the lock a caller counts with two plain integers,
// and yields its processor where it holds the lock for no time. Two callers inside at once show in the difference of the integers
// or in their sum; both are violations. Between processes, a counter on Redis is checked outside of the timed part.
package lockbench

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"inventory/loadtest/internal/experiment"
	"inventory/loadtest/internal/kinds"
	"inventory/loadtest/internal/report"
	"inventory/loadtest/internal/servers"
	"inventory/loadtest/internal/worker"
)

// scale is how much is measured.
type scale struct {
	rounds int           // at most
	window time.Duration // of one contender in one round, where it is measured for a time
	crowd  int           // goroutines of one process that meet at one lock
	slices int           // into which the window of one caller is cut
	visits int           // of each of the separate clients
	holds  int           // of one process, beside a server that stops
	stops  int           // of that server
}

func scaleOf(size experiment.Size) scale {
	return map[experiment.Size]scale{
		experiment.Full:  {rounds: 8, window: 1250 * time.Millisecond, crowd: 64, slices: 20, visits: 10, holds: 3000, stops: 20},
		experiment.Quick: {rounds: 1, window: 300 * time.Millisecond, crowd: 64, slices: 10, visits: 6, holds: 3000, stops: 5},
		experiment.Tiny:  {rounds: 1, window: 100 * time.Millisecond, crowd: 8, slices: 2, visits: 1, holds: 300, stops: 1},
	}[size]
}

// crowd is a case: some callers who want one lock, again and again.
type crowd struct {
	name      string
	processes int
	job       job  // of each process
	slices    bool // its rounds are shorter, and as many more
	targets   []experiment.Target
}

const sleeping = "sleep" // a contender that only sleeps, as long as others hold

// crowds are all cases, in the order of the report.
func crowds(s scale) []crowd {
	level, times, atLeast, atMost := experiment.Level, experiment.Times, experiment.AtLeast, experiment.AtMost
	toPeer := func(metric string, of func(experiment.Contender) bool) experiment.Ask {
		return func(r experiment.Result) experiment.Estimate {
			return r.Ratio(metric, experiment.Pair{kinds.Mutex, r.Most(perSecond, of)})
		}
	}
	library := func(c experiment.Contender) bool { return c.Name == kinds.BSM || c.Name == kinds.Redsync }
	return []crowd{
		{name: "one caller", processes: 1, job: job{Clients: 1, Callers: 1, Window: s.window / time.Duration(s.slices)}, slices: true, targets: []experiment.Target{
			atLeast("cycles, in parts of the fastest library's", toPeer(perSecond, library), 0.78),
			atMost("commands a cycle", level(commands, kinds.Mutex), 2),
		}},
		{name: "64 goroutines", processes: 1, job: job{Clients: 1, Callers: s.crowd, Window: s.window}, targets: []experiment.Target{
			atLeast("acquisitions, in parts of the fastest peer's", toPeer(perSecond, peer), 5),
			atLeast("Jain's index", level(fairness, kinds.Mutex), 0.95),
			atMost("longest wait, in parts of the fastest library's", toPeer(waitMax, library), 1.0/20),
		}},
		{name: "16 clients", processes: 1, job: job{Clients: 16, Callers: 16, Times: s.visits, Hold: 5 * time.Millisecond, Think: 10 * time.Millisecond}, targets: []experiment.Target{
			atMost("total time, in parts of the holds slept one after another", times(seconds, kinds.Mutex, sleeping), 1.1),
			atMost("idle after a release, p50 ms", level(idleP50, kinds.Mutex), 0.35),
			atMost("commands an acquisition", level(commands, kinds.Mutex), 4),
			atMost("wait p99, in parts of 16 holds", times(behindAll, kinds.Mutex, sleeping), 1.3),
			atMost("fair: callers who were overtaken", level(orderViolations, kinds.Fair), 0),
			atLeast("fair: acquisitions, in parts of the mutex's", times(perSecond, kinds.Fair, kinds.Mutex), 0.8),
			atMost("fair: commands an acquisition", level(commands, kinds.Fair), 4),
		}},
		{name: "3 processes", processes: 3, job: job{Clients: 1, Callers: 16, Window: s.window, Others: true}, targets: []experiment.Target{
			atLeast("Jain's index over the processes", level(fairness, kinds.Mutex), 0.95),
		}},
	}
}

// peer says of a contender that it is the lock of others.
func peer(c experiment.Contender) bool { return !c.Ours && c.Name != sleeping }

// Names are those of all cases.
func Names() (names []string) {
	for _, c := range crowds(scaleOf(experiment.Tiny)) {
		names = append(names, c.name)
	}
	return append(names, besideStops)
}

// Run measures. If ctx ends, or something fails, it returns what it has in addition to the error.
func Run(ctx context.Context, c experiment.Config) (report.Document, error) {
	s := scaleOf(c.Size)
	var all []kinds.Kind
	needs := servers.Needs{Nodes: true, Others: true, Database: "locks_", Generator: "callers inside processes of this program"} // some locks are rows
	r, err := experiment.Compare(ctx, c, "locks", needs, func(on *servers.Servers) (asked []experiment.Asked, err error) {
		on.About.Add("measurement", fmt.Sprintf("rounds: up to %d of %.3g s", s.rounds, s.window.Seconds()))
		all = kinds.All(on.URLs)
		for _, one := range crowds(s) {
			asked = append(asked, experiment.Asked{Name: one.name, Ask: func(ctx context.Context) (experiment.Result, error) {
				return one.meet(ctx, s, c, on.URLs)
			}})
		}
		asked = append(asked, experiment.Asked{Name: besideStops, Ask: func(ctx context.Context) (experiment.Result, error) {
			return outlast(ctx, s, c.Seed, on)
		}})
		return asked, kinds.Prepare(ctx, on.URLs)
	})
	if met := slices.DeleteFunc(slices.Clone(r.Results), func(one experiment.Result) bool { return one.Name == besideStops }); len(met) > 0 {
		first, sentences := glance(met, all)
		r.Sections, r.Summary = append([]report.Section{first}, r.Sections...), append(sentences, r.Summary...)
	}
	return r.Document, err
}

// meet has the crowd meet at a lock of each kind, in rounds.
func (c crowd) meet(ctx context.Context, s scale, config experiment.Config, on servers.URLs) (result experiment.Result, err error) {
	var opened servers.Closers
	defer func() { err = errors.Join(err, opened.Close()) }()
	all := experiment.Case{
		Factors: []string{""}, Metrics: metrics(), Targets: c.targets,
		Ratios: []experiment.Ratio{{Head: "x best peer", Metric: perSecond, To: func(r experiment.Result, _ experiment.Contender) string {
			return r.Most(perSecond, peer)
		}}},
	}
	for _, k := range kinds.All(on) {
		if k.Shared && c.job.Callers > 1 { // readers do not exclude one another
			continue
		}
		j := c.job
		j.Servers, j.Kind = on, k.Name
		team, err := worker.Assemble(ctx, Worker, longest, slices.Repeat([]job{j}, c.processes))
		if err != nil {
			return experiment.Result{}, err
		}
		opened.OnClose(team.End)
		all.Contenders = append(all.Contenders, experiment.Contender{Name: k.Name, Levels: []string{k.Name}, Ours: k.Ours, Play: func(context.Context, time.Duration) (experiment.Sample, error) {
			tallies, err := worker.Play[tally](team, servers.NewName("bench-"), j.Window+3*slack)
			if err != nil {
				return nil, err
			}
			return together(tallies).sample()
		}})
	}
	if c.job.Hold > 0 {
		all.Contenders = append(all.Contenders, c.sleeper())
	}
	rules := config.Rules(s.window, s.rounds)
	if c.slices {
		rules.Rounds *= s.slices
	}
	result = experiment.Run(ctx, all, rules)
	for _, k := range all.Contenders { // what no lock of ours may do
		if n := result.Of(k.Name, violations).Value; k.Ours && n > 0 {
			result.Wrong = append(result.Wrong, fmt.Sprintf("%s let two in at once, %.0f times", k.Name, n))
		}
	}
	return result, nil
}

// sleeper is the baseline of callers who hold: the same holds slept one after another.
func (c crowd) sleeper() experiment.Contender {
	return experiment.Contender{Name: sleeping, Levels: []string{sleeping}, Play: func(context.Context, time.Duration) (experiment.Sample, error) {
		start, holds := time.Now(), c.job.Times*c.job.Callers
		for range holds {
			time.Sleep(c.job.Hold)
		}
		took := time.Since(start)
		return experiment.Sample{
			perSecond: float64(holds) / took.Seconds(), seconds: took.Seconds(), fairness: 1, violations: 0,
			behindAll: report.Milliseconds(took) * float64(c.job.Callers) / float64(holds),
		}, nil
	}}
}

// fair is the least of Jain's index at which callers count as served alike.
const fair = 0.95

// glance says of each lock, over all cases, how fast, fair and safe it is, and in three sentences who is fastest, fairest and safe.
func glance(results []experiment.Result, all []kinds.Kind) (section report.Section, sentences []string) {
	table := &report.Table{Columns: []string{""}}
	var fastest, fairest, safe []string
	for _, r := range results {
		table.Columns = append(table.Columns, r.Name)
		if most := fastestOf(r); most != "" {
			fastest = append(fastest, fmt.Sprintf("%s with %s", most, r.Name))
		}
	}
	table.Columns = append(table.Columns, "longest wait ms", "least Jain's index", "safe")
	notes := []string{"for each crowd: acquisitions a second; ★ is the fastest"}
	for _, k := range all {
		row := []string{k.Name}
		longest, least, both := math.NaN(), math.NaN(), 0.0
		for _, r := range results {
			of := func(metric string) float64 { return r.Of(k.Name, metric).Value }
			star := map[bool]string{true: "★ "}[fastestOf(r) == k.Name]
			row = append(row, star+report.Number(of(perSecond)))
			longest, least = larger(longest, of(waitMax)), -larger(-least, -of(fairness))
			if n := of(violations); n > 0 {
				both += n
			}
		}
		row = append(row, report.Number(longest), report.Number(least), report.Good+" as far as is known")
		if least >= fair {
			row[len(row)-2] = report.Good + " " + report.Number(least)
			fairest = append(fairest, k.Name)
		}
		switch {
		case both > 0:
			row[len(row)-1] = fmt.Sprintf("%s let two in, %s", report.Bad, report.Count(int(both), "time"))
		case k.Flaw != "":
			row[len(row)-1] = report.Bad + " has a flaw"
		default:
			safe = append(safe, k.Name)
		}
		if k.Flaw != "" {
			notes = append(notes, k.Name+": "+k.Flaw)
		}
		table.Rows = append(table.Rows, row)
	}
	list := func(names []string) string { return strings.Join(append(names, "none")[:max(1, len(names))], ", ") }
	notes = append(notes, "--break shows the flaws of locks on Redis")
	return report.Section{Name: "who is fastest, fairest and safe", Table: table, Notes: notes}, []string{
		"Fastest: " + list(fastest) + ".",
		fmt.Sprintf("Fairest, with Jain's index of at least %g in every crowd: %s.", fair, list(fairest)),
		"Safe, as far as is known: " + list(safe) + ".",
	}
}

// fastestOf is the lock with most acquisitions; "": there is none.
func fastestOf(r experiment.Result) string {
	return r.Most(perSecond, func(c experiment.Contender) bool { return c.Name != sleeping })
}

// larger is the larger of two numbers; what is no number is none.
func larger(a, b float64) float64 {
	if math.IsNaN(a) || b > a {
		return b
	}
	return a
}
