package replay

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/dustin/go-humanize"
	"golang.org/x/sync/errgroup"

	"inventory/internal/api/client"
	"inventory/internal/progress"
	"inventory/loadtest/internal/compare"
	"inventory/loadtest/internal/history"
	"inventory/loadtest/internal/load"
	"inventory/loadtest/internal/report"
	"inventory/loadtest/internal/target"
)

// Settings say how a plan is run.
type Settings struct {
	Prefix      string        // of the names of this run's SKUs, so that a database can be used again
	Concurrency int           // requests under way at once
	Patience    time.Duration // for a final answer; 0: load.DefaultPersistence
	Key         string        // API key; "": none is shown
	Progress    io.Writer
}

// Replay is a plan that is played, and what came of it.
type Replay struct {
	Settings
	load.Drill
	Result
	plan       Plan
	services   *load.Services
	operations []history.Operation
	Totals     map[string]SKUTotals // by its name in the file
	merges     int64

	mu         sync.Mutex // guards the stocks and firstError
	firstError error      // of the first request that failed
	// lost is set when a request got no final answer in time: the service is gone. All other requests fail unsent, as to wait as
	// long for each would take hours.
	lost atomic.Bool
}

func newReplay(plan Plan, settings Settings) *Replay {
	return &Replay{
		Settings: settings, plan: plan, operations: plan.operations(settings.Prefix),
		Drill: load.Drill{Document: report.Document{Scenario: "replay"}, Name: "replay", Prefix: settings.Prefix},
	}
}

// Play replays a plan at a target, and compares the answers with the rows, also if it is stopped.
func Play(ctx context.Context, plan Plan, settings Settings, to *target.Target) (*Replay, error) {
	r := newReplay(plan, settings)
	err := r.At(ctx, to, report.Count(settings.Concurrency, "request")+" at once, each when an answer has come")
	if err != nil {
		return r, err
	}
	r.services, err = load.Open(load.Config{URLs: to.URLs, Key: settings.Key, Connections: settings.Concurrency, Promise: r.Promise})
	if err != nil {
		return r, err
	}
	defer r.services.Close()
	stopped := r.Drill.Play(ctx, r.run)
	if r.Parts != nil {
		r.sum()
		r.tell()
	}
	return r, stopped
}

// run creates the SKUs and sends the requests. It fails when a SKU cannot be created or ctx ends, and not when a request fails.
func (r *Replay) run(ctx context.Context) error {
	err := r.create(ctx)
	start := time.Now()
	if err == nil {
		err = r.send(ctx)
	}
	if err == nil || ctx.Err() != nil {
		r.Parts = []*load.Result{load.Closed(start, r.operations)}
	}
	return err
}

// operations are the requests, of this run's SKUs.
func (p Plan) operations(prefix string) []history.Operation {
	all := make([]history.Operation, len(p.Requests))
	for i, q := range p.Requests {
		all[i] = q.Operation
		all[i].Lines = slices.Clone(q.Lines)
		for n := range q.Lines {
			all[i].Lines[n].SKU = prefix + q.Lines[n].SKU
		}
	}
	return all
}

// create creates the SKUs.
func (r *Replay) create(ctx context.Context) error {
	created := progress.New(r.Progress, "SKUs created", len(r.plan.SKUs))
	defer created.Finish()
	creators, creating := errgroup.WithContext(ctx)
	creators.SetLimit(r.Concurrency)
	for _, sku := range r.plan.SKUs {
		if creating.Err() != nil {
			break
		}
		creators.Go(func() error {
			if err := r.services.Create(creating, r.Settings.Prefix+sku.Name, client.NewSKU{Stock: sku.Stock, Segments: &sku.Segments}); err != nil {
				return err
			}
			r.mu.Lock()
			r.Promise.Stocks[r.Settings.Prefix+sku.Name] = history.Stock{Units: sku.Stock}
			r.mu.Unlock()
			created.Add()
			return nil
		})
	}
	return creators.Wait()
}

// send sends the requests in the order of the file. A request waits until the earlier ones of its SKUs are answered. It takes one of
// the places meanwhile; those it waits for have taken theirs before, so there is no deadlock.
func (r *Replay) send(ctx context.Context) error {
	answers := progress.New(r.Progress, "requests answered", len(r.plan.Requests))
	defer answers.Finish()
	latest := make(map[string]chan struct{}) // closed when the SKU's latest request is answered
	senders, sending := errgroup.WithContext(ctx)
	senders.SetLimit(r.Concurrency)
	for i, o := range r.operations {
		if sending.Err() != nil {
			break
		}
		answered := make(chan struct{})
		before := make([]chan struct{}, len(o.Lines))
		for n, line := range o.Lines {
			before[n], latest[line.SKU] = latest[line.SKU], answered
		}
		senders.Go(func() error {
			defer close(answered)
			for _, earlier := range before {
				if !wait(sending, earlier) {
					return sending.Err()
				}
			}
			r.ask(sending, i)
			answers.Add()
			return sending.Err()
		})
	}
	return senders.Wait()
}

// wait waits for the answer to a request; nil: there is none. It reports false if ctx ends before.
func wait(ctx context.Context, answered chan struct{}) bool {
	if answered == nil {
		return true
	}
	select {
	case <-answered:
		return true
	case <-ctx.Done():
		return false
	}
}

var errLost = errors.New("not sent: the service does not answer any more")

// ask repeats one request until it has a final answer.
func (r *Replay) ask(ctx context.Context, i int) {
	o, err := &r.operations[i], errLost
	if !r.lost.Load() {
		var answer history.Answer
		answer, err = r.services.Ask(ctx, o, load.Persistence{First: i % len(r.services.URLs), For: r.Patience})
		if err != nil && ctx.Err() != nil {
			return
		}
		if err == nil && !answer.Accepted() && (!answer.Short() || !o.Kind.Takes()) {
			err = fmt.Errorf("status %d, %s", answer.Status, answer.Code)
		}
	}
	if err == nil {
		return
	}
	r.mu.Lock()
	if r.firstError == nil {
		r.firstError = fmt.Errorf("%s %s, SKU %s: %w", o.Kind, o.ID, o.Lines[0].SKU, err)
	}
	r.mu.Unlock()
	if errors.Is(err, load.ErrNoAnswer) { // after firstError is set, so that it is this one
		r.lost.Store(true)
	}
}

// Result counts lines of the file, each of them once, and the units that were sold.
type Result struct {
	Lines, Accepted, SoldOut, InsufficientStock, Restocked, LeftOut int

	Errors     int // without an answer, or with a wrong one
	Unanswered int // not sent, or without an answer, when the replay was stopped
	UnitsSold  int64
}

// SKUTotals are the units of one SKU: as answered, and what the rows have left.
type SKUTotals struct{ Sold, Restocked, Left int64 }

// sum sums up the answers and the rows.
func (r *Replay) sum() {
	r.Lines, r.LeftOut, r.Totals = r.plan.Lines, r.plan.LeftOut, map[string]SKUTotals{}
	for _, s := range r.Rows.SKUs {
		r.Totals[strings.TrimPrefix(s.Name, r.Drill.Prefix)] = SKUTotals{Left: s.Available}
		r.merges += s.Merges
	}
	for i, q := range r.plan.Requests {
		lines := r.linesOf(i)
		*lines += q.Stands
		for _, line := range q.Lines {
			of := r.Totals[line.SKU]
			switch lines {
			case &r.Accepted:
				of.Sold += line.Quantity
				r.UnitsSold += line.Quantity
			case &r.Restocked:
				of.Restocked += line.Quantity
			}
			r.Totals[line.SKU] = of
		}
	}
}

// linesOf is the count that the lines of the i-th request belong to.
func (r *Replay) linesOf(i int) *int {
	kind, became := r.All.Operations[i].Kind, r.All.Replies[i].Outcome
	switch {
	case became.Done() && kind == history.Restock:
		return &r.Restocked
	case became.Done():
		return &r.Accepted
	case became == load.SoldOut && kind.Takes():
		return &r.SoldOut
	case became == load.InsufficientStock && kind.Takes():
		return &r.InsufficientStock
	case r.Interrupted && became != load.Refused:
		return &r.Unanswered
	default:
		return &r.Errors
	}
}

// tell adds what became of the lines to the report.
func (r *Replay) tell() {
	all := r.All.All(0, load.Forever)
	perSecond := compare.Ratio(float64(all.Count()), r.All.Elapsed.Seconds())
	r.Summary, r.Sections = r.summary(perSecond), []report.Section{r.All.OutcomeSection()}
	r.Figures = []report.Figure{
		{Name: "requests", Unit: "/s", Value: perSecond},
		{Name: "p50", Unit: "ms", Value: compare.Milliseconds(all.Quantile(50))},
		{Name: "p99", Unit: "ms", Value: compare.Milliseconds(all.Quantile(99))},
		{Name: "units sold", Value: float64(r.UnitsSold)},
	}
	if r.Errors > 0 {
		r.Wrong = append(r.Wrong, fmt.Sprintf("%s failed, first: %v", report.Count(r.Errors, "line"), r.firstError))
	}
}

func (r *Replay) summary(perSecond float64) []string {
	comma := func(n int) string { return humanize.Comma(int64(n)) }
	const day = "2 January 2006"
	var restocked, left int64
	for _, t := range r.Totals {
		restocked, left = restocked+t.Restocked, left+t.Left
	}
	return []string{
		fmt.Sprintf("Replay of %s order lines, %s to %s, with %s SKUs, sent to %s.", comma(r.Lines),
			r.plan.From.Format(day), r.plan.To.Format(day), comma(len(r.plan.SKUs)), r.Environment.Of("target")),
		fmt.Sprintf("%s lines accepted, %s sold out, %s short of stock, %s restocked, %s left out, %s failed, %s unanswered.", comma(r.Accepted), comma(r.SoldOut),
			comma(r.InsufficientStock), comma(r.Restocked), comma(r.LeftOut), comma(r.Errors), comma(r.Unanswered)),
		fmt.Sprintf("%s units sold, %s restocked, %s left; %s merges.", humanize.Comma(r.UnitsSold), humanize.Comma(restocked), humanize.Comma(left), humanize.Comma(r.merges)),
		fmt.Sprintf("%.2f s, %s requests a second.", r.All.Elapsed.Seconds(), report.Number(perSecond)),
	}
}
