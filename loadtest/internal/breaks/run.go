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

	"golang.org/x/sync/errgroup"

	"inventory/loadtest/internal/experiment"
	"inventory/loadtest/internal/kinds"
	"inventory/loadtest/internal/report"
	"inventory/loadtest/internal/servers"
)

// result is what came of all faults.
type result struct {
	report.Document
	trials []*trial
	kinds  []kinds.Kind // that were tried: those whose clients can be cut off
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
func Run(ctx context.Context, c experiment.Config) (_ report.Document, err error) {
	on, err := servers.Prepare(ctx, c.URLs, servers.Needs{Nodes: true, Database: "breaks_"})
	if err != nil {
		return report.Document{}, err
	}
	defer func() { err = errors.Join(err, on.Close()) }()
	r := result{
		kinds:    slices.DeleteFunc(kinds.All(on.URLs), func(k kinds.Kind) bool { return !k.OnRedis }),
		Document: report.Document{Scenario: "locks", Environment: on.About},
	}
	err = r.Run(ctx, "breaking of locks", func(ctx context.Context) error { return r.tryAll(ctx, c, on.URLs) })
	r.tell()
	return r.Document, err
}

// tryAll tries the faults, several at a time.
func (r *result) tryAll(ctx context.Context, c experiment.Config, on servers.URLs) error {
	db, err := kinds.OpenPostgres(ctx, kinds.Setting{URLs: on, Connections: enough})
	if err != nil {
		return err
	}
	defer db.Close()
	if err := servers.Execute(ctx, on.DatabaseURL, createStock); err != nil {
		return err
	}
	trying, ctx := errgroup.WithContext(ctx)
	trying.SetLimit(atOnce)
	for _, f := range faults() {
		if ctx.Err() != nil || len(c.Cases) > 0 && !slices.Contains(c.Cases, f.name) {
			continue
		}
		c.Progress("case: " + f.name)
		for _, k := range r.kinds {
			if ctx.Err() == nil {
				t := &trial{servers: on, stock: stock{db}, fault: f, kind: k, name: servers.NewName("breaks-")}
				r.trials = append(r.trials, t)
				trying.Go(func() error { return t.run(ctx) })
			}
		}
	}
	err = trying.Wait()
	r.trials = slices.DeleteFunc(r.trials, func(t *trial) bool { return t.outcome == "" })
	return err
}

// wrong is what must not happen: one of ours broke, or a known flaw did not show.
func (r *result) wrong() (lines []string) {
	for _, t := range r.trials {
		switch {
		case t.kind.Ours && t.broken:
			lines = append(lines, fmt.Sprintf("%s: %s is broken: %s", t.fault.name, t.kind.Name, t.outcome))
		case !t.kind.Ours && t.fault.name == standsStill && !t.broken:
			lines = append(lines, fmt.Sprintf("%s: the known flaw of %s did not show: %s", t.fault.name, t.kind.Name, t.outcome))
		}
	}
	return lines
}

// tell adds a matrix of locks and faults to the report.
func (r *result) tell() {
	r.Wrong = r.wrong()
	r.Summary = []string{
		r.count("Ours", true), r.count("Those of others", false),
		fmt.Sprintf("A lease is %s; what is not free after %d leases counts as locked for ever.", lease, leases),
	}
	matrix, notes := &report.Table{Columns: []string{""}}, []string{}
	for _, k := range r.kinds {
		matrix.Rows = append(matrix.Rows, []string{k.Name})
	}
	for _, f := range faults() {
		if !slices.ContainsFunc(r.trials, func(t *trial) bool { return t.fault.name == f.name }) {
			continue
		}
		matrix.Columns, notes = append(matrix.Columns, f.name), append(notes, f.name+": "+f.steps)
		for i, k := range r.kinds {
			cell := report.Open + " not tried"
			for _, t := range r.trials {
				if t.fault.name == f.name && t.kind.Name == k.Name {
					cell = map[bool]string{true: report.Bad, false: report.Good}[t.broken] + " " + t.outcome
				}
			}
			matrix.Rows[i] = append(matrix.Rows[i], cell)
		}
	}
	r.Sections = []report.Section{{Name: "what becomes of a lock when its holder …", Table: matrix, Notes: notes}}
}

// count is what came of the locks of ours, or of others, in a sentence.
func (r *result) count(who string, ours bool) string {
	var faults, broken, late, accepted int
	one := map[bool]int{true: 1}
	for _, t := range r.trials {
		if t.kind.Ours == ours {
			faults, broken, late, accepted = faults+1, broken+one[t.broken], late+one[t.late], accepted+one[t.accepted]
		}
	}
	return fmt.Sprintf("%s: of %s %d broke a lock; of %s that came too late, accepted: %d.", who, report.Count(faults, "fault"), broken, report.Count(late, "write"), accepted)
}
