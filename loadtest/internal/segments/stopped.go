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
// moved, would be: medians of its rounds.
type Stopped struct {
	Segments   int     `json:"segments"`
	StillFor   float64 `json:"stopped_seconds"`
	Two        float64 `json:"two_processes_per_second"` // that sell by themselves, to as many callers each
	Before     float64 `json:"before_per_second"`
	While      float64 `json:"while_per_second"`
	After      float64 `json:"after_per_second"`
	WhileToTwo float64 `json:"while_to_two_processes"`
	Back       float64 `json:"back_seconds"`           // after it was continued, until all sell nearly as much as before
	Share      float64 `json:"stopped_share_after"`    // of the one that was stopped, once it was continued
	OthersMax  float64 `json:"others_longest_wait_ms"` // of callers in the two processes that went on, in any round
	Accepted   int64   `json:"accepted"`               // of all rounds; each has a row
	Refused    int64   `json:"refused"`                // told that they had waited for too long
	Rounds     int     `json:"rounds"`
	targets    []compare.Target
}

const (
	threeProcesses = 3
	nearly         = 0.9                    // of what was sold before
	glance         = 500 * time.Millisecond // for which they must
	// backLimit is how soon a process that goes on must have found back.
	backLimit = 3.
)

// stopped stops one of three processes in mid-run, beside rounds of two processes that nobody disturbs.
func (s *shop) stopped(ctx context.Context) (*Stopped, error) {
	var two, before, while, after, back, share []float64
	out := &Stopped{Segments: s.Scale.Default, StillFor: s.Scale.Still.Seconds(), Rounds: s.Scale.Rounds}
	for range s.Scale.Rounds {
		_, sales, err := s.sell(ctx, s.Scale.Default, s.jobs(threeProcesses-1, s.Scale.Callers*(threeProcesses-1)/threeProcesses, s.Scale.After))
		if err != nil {
			return nil, err
		}
		undisturbed := crowd.Together(sales)
		two = append(two, undisturbed.Timeline.PerSecond(s.Scale.After/4, s.Scale.After))
		r, err := s.stopOne(ctx)
		if err != nil {
			return nil, err
		}
		all, others := crowd.Together(r.sales), crowd.Together(r.sales[1:])
		end := s.Scale.After + s.Scale.Still + s.Scale.Rest
		sold := all.Timeline.PerSecond(s.Scale.After/4, r.stopped)
		before = append(before, sold)
		while = append(while, all.Timeline.PerSecond(r.stopped, r.continued))
		after = append(after, all.Timeline.PerSecond(r.continued, end))
		back = append(back, returned(all.Timeline, r.continued, end, nearly*sold).Seconds())
		share = append(share, compare.Ratio(r.sales[0].Timeline.PerSecond(r.continued, end), all.Timeline.PerSecond(r.continued, end)))
		out.OthersMax = max(out.OthersMax, compare.Milliseconds(others.Waits.Max()))
		out.Accepted, out.Refused = out.Accepted+all.Counts.Accepted, out.Refused+all.Counts.Refused
	}
	out.Two, out.Before, out.While, out.After = compare.Median(two), compare.Median(before), compare.Median(while), compare.Median(after)
	out.WhileToTwo, out.Back, out.Share = compare.PairedRatio(while, two), compare.Median(back), compare.Median(share)
	out.targets = []compare.Target{
		compare.AtLeast("while one of three stands still, in parts of two processes", out.WhileToTwo, nearly),
		compare.AtMost("seconds until three sell nearly as much as before", out.Back, backLimit),
	}
	return out, nil
}

// stop is a round in which the first process stood still.
type stop struct {
	sales              []crowd.Sale
	stopped, continued time.Duration // since the beginning
}

func (s *shop) stopOne(ctx context.Context) (r stop, err error) {
	window := s.Scale.After + s.Scale.Still + s.Scale.Rest
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

// returned is how long after a time it took until a glance saw enough sold; the whole rest if none did.
func returned(t crowd.Timeline, from, to time.Duration, enough float64) time.Duration {
	for at := from; at+glance <= to; at += crowd.Step {
		if t.PerSecond(at, at+glance) >= enough {
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
