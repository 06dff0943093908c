// Package lockbench measures the locks of internal/locking, of libraries and of textbooks (package kinds) in one run. A case is
// a question, such as what 64 goroutines get from one lock; package experiment plays its rounds. docs/lab/cases.md has the rules.
//
// Under the lock a caller counts with two plain integers, and yields its processor where it holds the lock for no time. Two
// callers inside at once show in the difference of the integers or in their sum; both are violations.
//
// A contender that hangs has a time limit. What it did until then is its result, and a note says so.
package lockbench

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"time"

	"inventory/loadtest/internal/experiment"
	"inventory/loadtest/internal/kinds"
	"inventory/loadtest/internal/report"
	"inventory/loadtest/internal/servers"
)

// Config says what to measure, where, and how long. Its worker does Work.
type Config struct {
	experiment.Config
	Scale Scale
}

// Scale is how much is measured.
type Scale struct {
	Rounds int           // at most
	Window time.Duration // of one contender in one round, where it is measured for a time
	Crowd  int           // goroutines of one process that meet at one lock
	Slices int           // into which the window of one caller is cut
	Visits int           // of each of the separate clients
	Few    bool          // fewer contenders in crowds
}

// Full is the scale of published figures.
func Full() Scale {
	return Scale{
		Rounds: 8, Window: 1250 * time.Millisecond, Crowd: 64, Slices: 20, Visits: 10,
	}
}

// Quick is the scale of a first look.
func Quick() Scale {
	s := Full()
	s.Rounds, s.Window, s.Slices, s.Visits, s.Few = 1, 300*time.Millisecond, 10, 6, true
	return s
}

// Tiny is that of a test, which only wants to know that all of it works.
func Tiny() Scale {
	return Scale{
		Rounds: 1, Window: 100 * time.Millisecond, Crowd: 8, Slices: 2, Visits: 1, Few: true,
	}
}

// bench is a run.
type bench struct {
	Config
	run             string // begins the names of this run's locks
	servers.Closers        // of the case
}

// Run measures. If ctx ends, or something fails, it returns what it has in addition to the error.
func Run(ctx context.Context, c Config) (result Result, err error) {
	if err := experiment.Check(Names(), c.Cases); err != nil {
		return Result{}, err
	}
	on, err := servers.Prepare(ctx, c.URLs, servers.Needs{
		Locks: true, Database: "locks_", Generator: "callers inside this program and processes of its own", // some locks are rows
	})
	if err != nil {
		return Result{}, err
	}
	defer func() { err = errors.Join(err, on.Close()) }()
	if err := kinds.Prepare(ctx, on.URLs); err != nil {
		return Result{}, err
	}
	on.About.Measurement = append(on.About.Measurement, fmt.Sprintf("rounds: up to %d of %.3g s", c.Scale.Rounds, c.Scale.Window.Seconds()))
	result = Result{c.Begin("locks", on)}
	c.URLs = on.URLs
	run := "bench-" + rand.Text()[:8] + "-"
	var asked []experiment.Asked
	for _, q := range questions() {
		asked = append(asked, experiment.Asked{Name: q.name, Ask: func(ctx context.Context) (experiment.Result, error) {
			return (&bench{Config: c, run: run}).answer(ctx, q)
		}})
	}
	return result, result.Ask(ctx, c.Config, asked)
}

// answer has the contenders of a case compete.
func (b *bench) answer(ctx context.Context, q question) (result experiment.Result, err error) {
	defer func() { err = errors.Join(err, b.Close()) }()
	if q.slices {
		b.Scale.Rounds, b.Scale.Window = b.Scale.Rounds*b.Scale.Slices, b.Scale.Window/time.Duration(b.Scale.Slices)
	}
	contenders, err := q.ask(ctx, b)
	if err != nil {
		return experiment.Result{}, err
	}
	result = experiment.Run(ctx, q.caseOf(contenders), b.Rules(b.Scale.Window, b.Scale.Rounds))
	result.Wrong = wrong(result)
	return result, nil
}

// fresh is the name of a lock that no caller has had.
func (b *bench) fresh(name string) string { return servers.NewName(b.run + name + "-") }

// leftOut is part of every summary.
const leftOut = "rueidislock is not among the peers: its module could not be had where this was made."

// Result is what a run measured.
type Result struct{ experiment.Report }

// Document is the report. Its audit is whether locks let in one caller at a time.
func (r Result) Document() (report.Document, error) {
	d := r.Report.Document()
	if s := knownFlaws(r.Results); len(s.Table.Rows) > 0 {
		d.Sections = append(d.Sections, s)
	}
	d.Summary = append(d.Summary, leftOut)
	cases := []map[string]any{}
	for _, one := range r.Results {
		entry := map[string]any{"case": one.Name, "contenders": one.Entries()}
		if one.Interrupted {
			entry["unfinished"] = true
		}
		cases = append(cases, entry)
	}
	return d, d.SetOwn(map[string]any{"cases": cases})
}

// wrong is what no lock of ours may do. A missed target is a result.
func wrong(r experiment.Result) (all []string) {
	for _, c := range r.Case.Contenders {
		if n := r.Of(c.Name, Violations).Value; c.Ours && n > 0 {
			all = append(all, fmt.Sprintf("%s let two in at once, %.0f times", c.Name, n))
		}
	}
	return all
}

// knownFlaws lists the flaws of the textbooks' locks that took part, however fast they are.
func knownFlaws(cases []experiment.Result) report.Section {
	table := &report.Table{Columns: []string{"", "known flaw"}}
	for _, known := range kinds.Textbooks() {
		took := func(c experiment.Contender) bool {
			return c.Name == known.Name || c.Name == fmt.Sprint(known.Name, " ", seldom)
		}
		if slices.ContainsFunc(cases, func(r experiment.Result) bool { return slices.ContainsFunc(r.Case.Contenders, took) }) {
			table.Rows = append(table.Rows, []string{known.Name, known.Flaw})
		}
	}
	return report.Section{Name: "what is wrong with the textbooks' locks", Table: table, Notes: []string{"--break shows it"}}
}
