// Package breaks causes faults for locks, and judges each lock afterwards. docs/LAB.md lists the faults.
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
	"time"

	"golang.org/x/sync/errgroup"

	"inventory/loadtest/internal/experiment"
	"inventory/loadtest/internal/kinds"
	"inventory/loadtest/internal/report"
	"inventory/loadtest/internal/servers"
	"inventory/loadtest/internal/worker"
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

// Run causes each fault for each lock: the faults are the cases. The work until an error, or until ctx ended, is in the
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

const (
	// lease is that of holders that die or stand still.
	lease = time.Second
	// A lock that is not free after forever counts as never free again.
	leases  = 5
	forever = leases * lease
	// A long lease does not run out.
	long = 30 * time.Second
	// kept is how long a lock has to be kept from all others.
	kept = 2 * time.Second
)

// The faults.
const (
	dies         = "dies while it holds"
	standsStill  = "stands still, then writes"
	losesUnlock  = "loses its unlock"
	losesNetwork = "loses its network"
)

// fault is a sequence of steps.
type fault struct {
	name  string
	steps string // what happens, in a sentence
	lease time.Duration
	// happens does the steps, and judges.
	happens func(t *trial, ctx context.Context) error
}

// faults are all, in the order of the report.
func faults() []fault {
	return []fault{
		{
			dies, "The process has the lock and gets SIGKILL. Somebody else waits.", lease, func(t *trial, ctx context.Context) error {
				_, err := t.holder.do(toLock)
				if err := errors.Join(err, t.holder.Kill()); err != nil {
					return err
				}
				return t.await(ctx)
			},
		},
		{
			standsStill, "The process has the lock, has read its row, and gets SIGSTOP. Somebody else gets the lock if it can, and sells " +
				"3 of 10 units. The process goes on by SIGCONT, and writes what it meant to write: one unit less than it has read.",
			lease, func(t *trial, ctx context.Context) error {
				return t.overtaken(ctx, t.holder.Stop, t.holder.Continue, forever, "kept until the holder went on")
			},
		},
		{
			losesUnlock, "The holder's network is gone while it unlocks, and back afterwards; nobody calls unlock again. Somebody else " +
				"waits. The holder's process lives on.", lease, (*trial).losesUnlock,
		},
		{
			losesNetwork, "The holder has read its row when all its connections are cut; new ones work. Somebody else gets the lock if it " +
				"can, and sells 3 of 10 units. The holder writes what it meant to write, and unlocks.",
			long, func(t *trial, ctx context.Context) error {
				cut := func() error {
					_, err := t.holder.do(toCut)
					return err
				}
				return t.overtaken(ctx, cut, func() error { return nil }, kept, "kept for "+kept.String()+", and given back")
			},
		},
	}
}

// trial is one fault of one lock, and what came of it.
type trial struct {
	servers servers.URLs
	stock   stock
	fault   fault
	kind    kinds.Kind
	name    string        // of the lock, and of the row that it guards
	holder  remote        // in a process of its own
	rival   *kinds.Client // of a caller in this process, who comes next

	outcome  string  // "": it was stopped before
	broken   bool    // the lock was
	late     bool    // there was a late write
	accepted bool    // which the row accepted
	waited   float64 // milliseconds until the next caller had the lock, or gave up
}

// run causes the fault, and judges what came of it.
func (t *trial) run(ctx context.Context) (err error) {
	if err := t.stock.put(ctx, t.name); err != nil {
		return err
	}
	s := kinds.Setting{URLs: t.servers, Lease: long, Poll: poll, Connections: enough, Rival: true}
	if t.rival, err = t.kind.Open(ctx, s); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, t.rival.Close()) }()
	holds := job{t.servers, t.kind.Name, t.name, t.fault.lease}
	if t.holder.Process, err = worker.Start(ctx, worker.Job{Kind: Worker, Job: holds, Limit: 5 * time.Minute}, nil); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, t.holder.Kill()) }()
	if err := t.fault.happens(t, ctx); err != nil {
		return fmt.Errorf("%s, %s: %w", t.fault.name, t.kind.Name, err)
	}
	return nil
}

// losesUnlock is a network that is gone while the holder unlocks.
func (t *trial) losesUnlock(ctx context.Context) error {
	if _, err := t.holder.do(toLock, toPull); err != nil {
		return err
	}
	if _, err := t.holder.do(toUnlock); err == nil {
		return errors.New("the holder could unlock without a network")
	}
	if _, err := t.holder.do(toPlug); err != nil {
		return err
	}
	return t.await(ctx)
}

// overtaken causes something for a holder that has read its row, and has the rival wait for the lock up to a bound. If the
// rival gets it, it sells before the holder goes on and writes. Else the holder writes and unlocks, and the outcome is well.
func (t *trial) overtaken(ctx context.Context, happens, goOn func() error, bound time.Duration, well string) error {
	if _, err := t.holder.do(toLock, toRead); err != nil {
		return err
	}
	if err := happens(); err != nil {
		return err
	}
	next, err := t.wait(ctx, bound)
	if err == nil && next != nil {
		err = t.sell(ctx, next)
	}
	if err := errors.Join(err, goOn()); err != nil {
		return err
	}
	wrote, err := t.holder.do(toWrite)
	switch {
	case err != nil:
		return err
	case next != nil:
		heard, err := t.holder.do(toListen)
		if err != nil {
			return err
		}
		return errors.Join(t.judge(ctx, wrote.Done, heard.Told), next.Unlock(ctx))
	case !wrote.Done:
		t.broken, t.outcome = true, "the row refused who has the lock"
		return nil
	}
	if _, err := t.holder.do(toUnlock); err != nil {
		return err
	}
	err = t.await(ctx)
	if err == nil && !t.broken {
		t.outcome = well
	}
	return err
}

// wait has the rival wait for the lock, and adds the time to the result. It returns nil if the lock is not free within the bound.
func (t *trial) wait(ctx context.Context, bound time.Duration) (kinds.Hold, error) {
	start := time.Now()
	end := start.Add(bound)
	within, cancel := context.WithDeadline(ctx, end)
	defer cancel()
	hold, err := t.rival.Lock(t.name)(within)
	t.waited += report.Milliseconds(time.Since(start))
	switch {
	case err == nil:
		return hold, nil
	case ctx.Err() == nil && !time.Now().Before(end): // a connection may end before the context does
		return nil, nil
	}
	return nil, fmt.Errorf("wait for the lock: %w", err)
}

// await judges a lock by whether it is free again.
func (t *trial) await(ctx context.Context) error {
	hold, err := t.wait(ctx, forever)
	if err != nil {
		return err
	}
	if hold == nil {
		t.broken, t.outcome = true, "still locked after "+forever.String()
		return nil
	}
	t.outcome = "free after " + report.Number(t.waited) + " ms"
	return hold.Unlock(ctx)
}

// sell sells under the rival's lock, which it keeps.
func (t *trial) sell(ctx context.Context, hold kinds.Hold) error {
	available, err := t.stock.read(ctx, t.name)
	if err != nil {
		return err
	}
	accepted, err := t.stock.write(ctx, t.name, available-ofNext, hold)
	if err == nil && !accepted {
		err = errors.New("the row refused who has the lock")
	}
	return err
}

// judge judges a lock by what became of a late write.
func (t *trial) judge(ctx context.Context, accepted bool, told string) error {
	left, err := t.stock.read(ctx, t.name)
	if err != nil {
		return err
	}
	t.late, t.accepted, t.broken = true, accepted, accepted || told == ""
	switch {
	case accepted:
		t.outcome = fmt.Sprintf("both wrote: %d units sold, %d taken off", ofFirst+ofNext, units-left)
	case told == "":
		t.outcome = "late write refused, holder not told"
	default:
		t.outcome = "late write refused, holder told"
	}
	return nil
}
