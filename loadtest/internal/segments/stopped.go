package segments

import (
	"context"
	"errors"
	"fmt"
	"time"

	"inventory/loadtest/internal/compare"
	"inventory/loadtest/internal/crowd"
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
	targets    []compare.Target
}

const (
	threeProcesses = 3
	glance         = 500 * time.Millisecond // in which a process that is back sells
	itsPart        = 0.2                    // of the whole
	// backLimit is how soon, in seconds.
	backLimit = 3.
)

// stopped stops one of three processes in mid-run, beside rounds of two processes that nobody disturbs.
func (s *shop) stopped(ctx context.Context) (*Stopped, error) {
	out := &Stopped{Segments: s.Scale.Default, StillFor: s.Scale.Still.Seconds(), Rounds: s.Scale.Rounds}
	var before, while, after, twoWhile, twoAfter, back, share []float64
	end := s.Scale.After + s.Scale.Still + s.Scale.Rest
	for round := range s.Scale.Rounds {
		var two crowd.Timeline
		var r stop
		for _, play := range compare.InTurn([]func() error{
			func() (err error) { two, err = s.twoAlone(ctx, end); return err },
			func() (err error) { r, err = s.stopOne(ctx, end); return err },
		}, round) {
			if err := play(); err != nil {
				return nil, err
			}
		}
		all, one := crowd.Together(r.sales), r.sales[0].Timeline
		before = append(before, all.Timeline.PerSecond(0, r.stopped))
		while, twoWhile = append(while, all.Timeline.PerSecond(r.stopped, r.continued)), append(twoWhile, two.PerSecond(r.stopped, r.continued))
		after, twoAfter = append(after, all.Timeline.PerSecond(r.continued, end)), append(twoAfter, two.PerSecond(r.continued, end))
		back = append(back, returned(one, all.Timeline, r.continued, end).Seconds())
		share = append(share, compare.Ratio(one.PerSecond(r.continued, end), all.Timeline.PerSecond(r.continued, end)))
		out.OthersMax = max(out.OthersMax, compare.Milliseconds(crowd.Together(r.sales[1:]).Waits.Max()))
		out.Accepted, out.Refused = out.Accepted+all.Counts.Accepted, out.Refused+all.Counts.Refused
	}
	out.Before, out.While, out.After, out.Two = compare.Median(before), compare.Median(while), compare.Median(after), compare.Median(twoWhile)
	out.WhileToTwo, out.AfterToTwo = compare.PairedRatio(while, twoWhile), compare.PairedRatio(after, twoAfter)
	out.Back, out.Share = compare.Median(back), compare.Median(share)
	out.targets = []compare.Target{
		compare.AtLeast("while one of three stands still, in parts of two processes", out.WhileToTwo, 0.9),
		compare.AtMost("seconds until the one that stood still sells a fifth of the whole", out.Back, backLimit),
	}
	return out, nil
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
	if r.sales, err = all.Sales(); err != nil {
		return stop{}, err
	}
	s.told.Add(sku, crowd.Together(r.sales).Counts.Accepted, 0)
	return r, nil
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
