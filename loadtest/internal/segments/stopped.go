package segments

import (
	"context"
	"errors"
	"fmt"
	"time"

	"inventory/loadtest/internal/compare"
	"inventory/loadtest/internal/crowd"
	"inventory/loadtest/internal/report"
)

// Stopped is what three processes sell, one of which is stopped and continued later, as a machine that swaps, or that is
// moved, would be: medians of its rounds. Two processes sell by themselves beside it, to as many callers each, for as
// long: what a database does in its tenth second is compared with its tenth second.
type Stopped struct {
	Segments   int     `json:"segments"`
	StillFor   float64 `json:"stopped_seconds"`
	Before     float64 `json:"before_per_second"`
	While      float64 `json:"while_per_second"`
	After      float64 `json:"after_per_second"`
	Two        float64 `json:"two_processes_per_second"` // while, in the other round, a third would stand still
	WhileToTwo float64 `json:"while_to_two_processes"`
	AfterToTwo float64 `json:"after_to_two_processes"`
	Back       float64 `json:"back_seconds"`           // after it was continued, until the stopped one sells its part again
	Share      float64 `json:"stopped_share_after"`    // of all that is sold once it was continued
	OthersMax  float64 `json:"others_longest_wait_ms"` // of callers in the processes that went on, in any round
	Accepted   int64   `json:"accepted"`               // of all rounds; each has a row
	Refused    int64   `json:"refused"`                // told that they had waited for too long
	Rounds     int     `json:"rounds"`

	targets       []report.Target
	all, one, two course  // of the whole, of the one that is stopped, and of the two alone
	stoppedAt     float64 // seconds
}

const (
	threeProcesses = 3
	stride         = 5 * crowd.Step         // in which a sale is shown
	glance         = 500 * time.Millisecond // in which a process that is back sells
	itsPart        = 0.2                    // of the whole
	// backLimit is how soon, in seconds.
	backLimit = 3.
)

// halt is what the rounds have seen in which one of three processes stood still, and those of two beside them.
type halt struct {
	before, while, after, twoWhile, twoAfter, back, share []float64
}

// stopped stops one of three processes in mid-run, beside rounds of two processes that nobody disturbs. Rounds that were
// over before an error are measured; without any there is nothing.
func (s *shop) stopped(ctx context.Context) (*Stopped, error) {
	out := &Stopped{
		Segments: s.Scale.Default, StillFor: s.Scale.Still.Seconds(), stoppedAt: s.Scale.After.Seconds(),
		all: course{every: stride}, one: course{every: stride}, two: course{every: stride},
	}
	var h halt
	end := s.Scale.After + s.Scale.Still + s.Scale.Rest
	for round := range s.Scale.Rounds {
		var two crowd.Timeline
		var r stop
		for _, play := range compare.InTurn([]func() error{
			func() (err error) { two, err = s.twoAlone(ctx, end); return err },
			func() (err error) {
				if r, err = s.stopOne(ctx, end); err == nil {
					err = context.Cause(ctx)
				}
				return err
			},
		}, round) {
			if err := play(); err != nil {
				return out.settle(h), err
			}
		}
		out.add(&h, r, two, end)
	}
	out = out.settle(h)
	out.targets = []report.Target{
		report.AtLeast("while one of three stands still, in parts of two processes", out.WhileToTwo, 0.9),
		report.AtMost("seconds until the one that stood still sells a fifth of the whole", out.Back, backLimit),
	}
	return out, nil
}

// add adds a round.
func (s *Stopped) add(h *halt, r stop, two crowd.Timeline, end time.Duration) {
	all, one := crowd.Together(r.sales), r.sales[0].Timeline
	h.before = append(h.before, all.Timeline.PerSecond(0, r.stopped))
	h.while, h.twoWhile = append(h.while, all.Timeline.PerSecond(r.stopped, r.continued)), append(h.twoWhile, two.PerSecond(r.stopped, r.continued))
	h.after, h.twoAfter = append(h.after, all.Timeline.PerSecond(r.continued, end)), append(h.twoAfter, two.PerSecond(r.continued, end))
	h.back = append(h.back, returned(one, all.Timeline, r.continued, end).Seconds())
	h.share = append(h.share, compare.Ratio(one.PerSecond(r.continued, end), all.Timeline.PerSecond(r.continued, end)))
	s.OthersMax = max(s.OthersMax, compare.Milliseconds(crowd.Together(r.sales[1:]).Waits.Max()))
	s.Accepted, s.Refused, s.Rounds = s.Accepted+all.Counts.Accepted, s.Refused+all.Counts.Refused, s.Rounds+1
	s.all.sold(all.Timeline, end)
	s.one.sold(one, end)
	s.two.sold(two, end)
}

// settle is the figures of all rounds, nil without any.
func (s *Stopped) settle(h halt) *Stopped {
	if s.Rounds == 0 {
		return nil
	}
	s.Before, s.While, s.After, s.Two = compare.Median(h.before), compare.Median(h.while), compare.Median(h.after), compare.Median(h.twoWhile)
	s.WhileToTwo, s.AfterToTwo = compare.PairedRatio(h.while, h.twoWhile), compare.PairedRatio(h.after, h.twoAfter)
	s.Back, s.Share = compare.Median(h.back), compare.Median(h.share)
	return s
}

// stop is a round in which the first process stood still.
type stop struct {
	sales              []crowd.Sale
	stopped, continued time.Duration // since the beginning
}

// twoAlone sells by two processes, to as many callers each as if there were a third.
func (s *shop) twoAlone(ctx context.Context, window time.Duration) (crowd.Timeline, error) {
	_, sales, err := s.sell(ctx, s.Scale.Default, s.jobs(threeProcesses-1, s.Scale.Callers*(threeProcesses-1)/threeProcesses, window))
	return crowd.Together(sales).Timeline, err
}

func (s *shop) stopOne(ctx context.Context, window time.Duration) (r stop, err error) {
	sku, err := s.create(ctx, s.Scale.Default)
	if err != nil {
		return stop{}, err
	}
	defer func() { s.writeDown(sku, r.sales, err) }()
	jobs := s.jobs(threeProcesses, s.Scale.Callers, window)
	for i := range jobs {
		jobs[i].SKU, jobs[i].Patient = sku, true
	}
	all, err := crowd.Start(ctx, s.Worker, window, jobs)
	if err != nil {
		return stop{}, err
	}
	defer func() { err = errors.Join(err, all.End()) }()
	began := time.Now()
	if err := all.Go(); err != nil {
		return stop{}, err
	}
	sleep(ctx, s.Scale.After)
	r.stopped = time.Since(began)
	if err := all[0].Stop(); err != nil {
		return stop{}, fmt.Errorf("stop a process: %w", err)
	}
	sleep(ctx, s.Scale.Still)
	r.continued = time.Since(began)
	if err := all[0].Continue(); err != nil {
		return stop{}, fmt.Errorf("continue a process: %w", err)
	}
	r.sales, err = all.Sales()
	return r, err
}

// returned is how long after a time it took until a glance saw one sell its part of all; the whole rest if none did.
func returned(one, all crowd.Timeline, from, to time.Duration) time.Duration {
	for at := from; at+glance <= to; at += crowd.Step {
		if sold := one.PerSecond(at, at+glance); sold > 0 && sold >= itsPart*all.PerSecond(at, at+glance) {
			return at - from
		}
	}
	return to - from
}

// sleep returns sooner when ctx ends.
func sleep(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
