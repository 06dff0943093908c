package replay

import (
	"context"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/dustin/go-humanize"
	"golang.org/x/sync/errgroup"

	"inventory/internal/api/client"
	"inventory/internal/progress"
	"inventory/loadtest/internal/history"
	"inventory/loadtest/internal/load"
	"inventory/loadtest/internal/report"
	"inventory/loadtest/internal/target"
)

// Settings say how a plan is run.
type Settings struct {
	Concurrency int           // requests under way at once
	Patience    time.Duration // for a final answer; 0: load.DefaultPersistence
	Key         string        // API key; "": none is shown
	Progress    io.Writer
}

// Replay is a plan that is played, and what came of it.
type Replay struct {
	Settings
	load.Drill
	plan Plan
}

func newReplay(plan Plan, settings Settings) *Replay {
	return &Replay{Settings: settings, plan: plan, Drill: load.Drill{
		Name: "replay", Prefix: plan.Prefix,
		Bad: []load.Outcome{load.BuyerLimit, load.SaleClosed, load.Overloaded, load.Refused, load.Failed, load.Unreached, load.Unknown},
	}}
}

// Play plays a plan at a target, and compares the answers with the rows, also if it is stopped.
func Play(ctx context.Context, plan Plan, settings Settings, to *target.Target) (*Replay, error) {
	r := newReplay(plan, settings)
	err := r.At(ctx, to, settings.Key, settings.Concurrency, report.Count(settings.Concurrency, "request")+" at once, each when an answer has come")
	if err != nil {
		return r, err
	}
	stopped := r.Drill.Play(ctx, r.run)
	if r.Parts != nil {
		r.tell()
	}
	return r, stopped
}

// run creates the SKUs and sends the requests. It fails when a SKU cannot be created, the service does not answer any more, or ctx
// ends, and not when a request fails.
func (r *Replay) run(ctx context.Context) error {
	if err := r.create(ctx); err != nil && ctx.Err() == nil {
		return err
	}
	start := time.Now()
	err := r.send(ctx)
	if ctx.Err() != nil { // what has no answer was stopped
		r.Bad = []load.Outcome{load.Refused}
	}
	r.Parts = []*load.Result{load.Closed(start, r.plan.Requests)}
	return err
}

// create creates the SKUs.
func (r *Replay) create(ctx context.Context) error {
	created := progress.New(r.Progress, "SKUs created", len(r.plan.SKUs))
	defer created.Finish()
	creators, creating := errgroup.WithContext(ctx)
	creators.SetLimit(r.Concurrency)
	var stocks sync.Mutex
	for _, sku := range r.plan.SKUs {
		if creating.Err() != nil {
			break
		}
		creators.Go(func() error {
			if err := r.Services.Create(creating, sku.Name, client.NewSKU{Stock: sku.Stock, Segments: &sku.Segments}); err != nil {
				return err
			}
			stocks.Lock()
			defer stocks.Unlock()
			r.Promise.Stocks[sku.Name] = history.Stock{Units: sku.Stock}
			created.Add()
			return nil
		})
	}
	return creators.Wait()
}

// send sends the requests in the order of the file. A request waits until the earlier ones of its SKUs are answered. It takes one of
// the places meanwhile; those it waits for have taken theirs before, so there is no deadlock. A request without a final answer ends
// it: to wait as long for each of the others would take hours.
func (r *Replay) send(ctx context.Context) error {
	answers := progress.New(r.Progress, "requests answered", len(r.plan.Requests))
	defer answers.Finish()
	latest := make(map[string]chan struct{}) // closed when the SKU's latest request is answered
	senders, sending := errgroup.WithContext(ctx)
	senders.SetLimit(r.Concurrency)
	for i := range r.plan.Requests {
		if sending.Err() != nil {
			break
		}
		o, answered := &r.plan.Requests[i], make(chan struct{})
		var before []chan struct{}
		for _, line := range o.Lines {
			if earlier, is := latest[line.SKU]; is {
				before = append(before, earlier)
			}
			latest[line.SKU] = answered
		}
		senders.Go(func() error {
			for _, earlier := range before {
				select {
				case <-earlier:
				case <-sending.Done():
					return sending.Err()
				}
			}
			_, err := r.Services.Ask(sending, o, load.Persistence{First: i % len(r.Services.URLs), For: r.Patience})
			if err != nil { // and those that wait for it end with the context
				return fmt.Errorf("%s %s, SKU %s: %w", o.Kind, o.ID, o.Lines[0].SKU, err)
			}
			answers.Add()
			close(answered)
			return nil
		})
	}
	return senders.Wait()
}

// tell adds what became of the requests to the report, and of the units what the rows say.
func (r *Replay) tell() {
	all := r.All.Latencies(0, load.Forever)
	perSecond := report.Ratio(float64(all.Count()), r.All.Elapsed.Seconds())
	var sold, restocked, left, merges int64
	for _, d := range r.Rows.Deductions {
		sold += d.Quantity
	}
	for _, m := range r.Rows.Movements {
		restocked += m.Quantity
	}
	for _, s := range r.Rows.SKUs {
		left, merges = left+s.Available, merges+s.Merges
	}
	comma := func(n int) string { return humanize.Comma(int64(n)) }
	const day = "2 January 2006"
	r.Scenario, r.Summary = "replay", []string{
		fmt.Sprintf("Replay of %s order lines, %s to %s, with %s SKUs, in %s requests to %s; %s lines left out.", comma(r.plan.Lines), r.plan.From.Format(day),
			r.plan.To.Format(day), comma(len(r.plan.SKUs)), comma(len(r.plan.Requests)), r.Environment.Of("target"), comma(r.plan.LeftOut)),
		fmt.Sprintf("%s units sold, %s restocked, %s left; %s merges.", humanize.Comma(sold), humanize.Comma(restocked), humanize.Comma(left), humanize.Comma(merges)),
		fmt.Sprintf("%.2f s, %s requests a second.", r.All.Elapsed.Seconds(), report.Number(perSecond)),
	}
	r.Figures = []report.Figure{
		{Name: "requests", Unit: "/s", Value: perSecond},
		{Name: "p50", Unit: "ms", Value: report.Milliseconds(all.Quantile(50))},
		{Name: "p99", Unit: "ms", Value: report.Milliseconds(all.Quantile(99))},
		{Name: "units sold", Value: float64(sold)},
	}
	r.Sections = []report.Section{r.All.OutcomeSection()}
}
