// Package breaks causes faults for locks, and judges what becomes of each lock. docs/LAB.md lists the faults.
//
// A fault is a fixed sequence of steps. A holder is a process of its own, which does one step at a time, and gets SIGKILL or
// SIGSTOP in between. Its connections to Redis go through proxies that can cut them. Each step waits for the answer to the one before. Only
// "free again" is waited for, up to a bound of several leases.
//
// A lock guards a row of stock. A holder reads how many units are left, and writes how many will be left: a write of what was
// read before the write of the next holder sells the same units twice. A lock with a fencing token shows it to the row, which
// refuses an older token than the last; the writes of any other lock are taken as they come.
package breaks

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"inventory/loadtest/internal/experiment"
	"inventory/loadtest/internal/kinds"
	"inventory/loadtest/internal/report"
	"inventory/loadtest/internal/servers"
)

// Break is what came of one fault of one lock.
type Break struct {
	Fault, Lock string
	Ours        bool
	Outcome     string  // begins with broken, survived or refused
	Late        bool    // there was a late write
	Accepted    bool    // which the row accepted
	Waited      float64 // milliseconds until the next caller had the lock, or gave up
}

// broken reports whether the lock was broken.
func (b Break) broken() bool { return strings.HasPrefix(b.Outcome, broken) }

// result is what came of all faults.
type result struct {
	report.Document
	breaks []Break
	kinds  []kinds.Kind
}

// Names are those of all faults.
func Names() (names []string) {
	for _, f := range faults() {
		names = append(names, f.name)
	}
	return names
}

// atOnce is how many trials run at once. Most of them wait for a lease to run out.
const atOnce = 16

// Run causes each fault for each lock: the faults are the cases. What was done until an error, or until ctx ended, is in the
// report.
func Run(ctx context.Context, c experiment.Config) (report.Document, error) {
	r, err := run(ctx, c)
	return r.Document, err
}

func run(ctx context.Context, c experiment.Config) (r result, err error) {
	on, err := servers.Prepare(ctx, c.URLs, servers.Needs{Nodes: true, Database: "breaks_"})
	if err != nil {
		return result{}, err
	}
	defer func() { err = errors.Join(err, on.Close()) }()
	r = result{kinds: breakable(on.URLs), Document: report.Document{
		Scenario: "locks", Environment: on.About,
	}}
	err = r.Run(ctx, "breaking of locks", func(ctx context.Context) (err error) {
		r.breaks, err = tryAll(ctx, c, on.URLs)
		return err
	})
	r.tell()
	return r, err
}

// breakable are the kinds that are tried: those whose clients can be cut off.
func breakable(on servers.URLs) []kinds.Kind {
	return slices.DeleteFunc(kinds.All(on), func(k kinds.Kind) bool { return !k.OnRedis })
}

// tryAll tries the faults, several at a time, and returns what came of them in their order.
func tryAll(ctx context.Context, c experiment.Config, on servers.URLs) (breaks []Break, err error) {
	db, err := kinds.OpenPostgres(ctx, kinds.Setting{URLs: on, Connections: enough})
	if err != nil {
		return nil, err
	}
	defer db.Close()
	if err := servers.Execute(ctx, on.DatabaseURL, createStock); err != nil {
		return nil, err
	}
	var trials []*trial
	trying, ctx := errgroup.WithContext(ctx)
	trying.SetLimit(atOnce)
	for _, f := range faults() {
		if ctx.Err() != nil || len(c.Cases) > 0 && !slices.Contains(c.Cases, f.name) {
			continue
		}
		c.Progress(f.name)
		for _, k := range breakable(on) {
			if ctx.Err() == nil {
				t := &trial{servers: on, stock: stock{db}, fault: f, kind: k, name: servers.NewName("breaks-")}
				trials = append(trials, t)
				trying.Go(func() error { return t.run(ctx) })
			}
		}
	}
	err = trying.Wait()
	for _, t := range trials {
		if t.over {
			breaks = append(breaks, t.result)
		}
	}
	return breaks, err
}

// wrong is what must not happen: one of ours broke, or a known flaw did not show.
func (r *result) wrong() (lines []string) {
	for _, b := range r.breaks {
		switch {
		case b.Ours && b.broken():
			lines = append(lines, fmt.Sprintf("%s: %s is %s", b.Fault, b.Lock, b.Outcome))
		case !b.Ours && b.Fault == standsStill && !b.broken():
			lines = append(lines, fmt.Sprintf("%s: the known flaw of %s did not show: %s", b.Fault, b.Lock, b.Outcome))
		}
	}
	return lines
}

// tell adds a matrix of locks and faults to the report.
func (r *result) tell() {
	r.Wrong = r.wrong()
	r.Summary = append(r.count("Ours", true), append(r.count("Those of others", false),
		fmt.Sprintf("A lease is %s; what is not free after %d leases counts as locked for ever.", lease, leases))...)
	matrix, notes := &report.Table{Columns: []string{""}}, []string{}
	for _, k := range r.kinds {
		matrix.Rows = append(matrix.Rows, []string{k.Name})
	}
	for _, f := range faults() {
		if !slices.ContainsFunc(r.breaks, func(b Break) bool { return b.Fault == f.name }) {
			continue
		}
		matrix.Columns, notes = append(matrix.Columns, f.name), append(notes, f.name+": "+f.steps)
		for i, k := range r.kinds {
			cell := report.Open + " not tried"
			for _, b := range r.breaks {
				if b.Fault == f.name && b.Lock == k.Name {
					_, what, _ := strings.Cut(b.Outcome, ": ")
					cell = map[bool]string{true: report.Bad, false: report.Good}[b.broken()] + " " + what
				}
			}
			matrix.Rows[i] = append(matrix.Rows[i], cell)
		}
	}
	r.Sections = []report.Section{{Name: "what becomes of a lock when its holder …", Table: matrix, Notes: notes}}
}

// count is what came of the locks of ours, or of others, in a sentence.
func (r *result) count(who string, ours bool) []string {
	var faults, broken, accepted, late int
	for _, b := range r.breaks {
		if b.Ours != ours {
			continue
		}
		faults++
		if b.broken() {
			broken++
		}
		if b.Late {
			late++
		}
		if b.Accepted {
			accepted++
		}
	}
	return []string{fmt.Sprintf("%s: of %s %d broke a lock; of %s that came too late, accepted: %d.", who, report.Count(faults, "fault"), broken, report.Count(late, "write"), accepted)}
}
