package segments

import (
	"context"
	"fmt"
	"time"

	"inventory/internal/latency"
	"inventory/loadtest/internal/compare"
	"inventory/loadtest/internal/experiment"
	"inventory/loadtest/internal/load"
	"inventory/loadtest/internal/report"
)

// flooded is the one contender.
const flooded = "inventory"

// The metrics. Waits are of accepted orders, where nothing else is said; calm is the time before.
const (
	capacity   = "capacity per second" // found just before, with callers that wait for their answers
	offered    = "offered per second"
	goodput    = "goodput per second" // accepted
	toCapacity = "goodput ratio"
	calmP50    = "calm p50 ms"
	calmP99    = "calm p99 ms"
	refusedP50 = "refused p50 ms"
	refusedP99 = "refused p99 ms"
	unknown    = "unknown" // orders that may have a row
)

const (
	tooMuch    = 3. // times what the service can
	calmly     = 0.5
	slice      = 100 * time.Millisecond // in which latency is looked at
	normal     = 2                      // times what acceptances took before, at most
	calmWithin = 5.                     // seconds
)

// flood is the case, with its rounds over time.
type flood struct {
	*shop
	courses
}

// The lines of its plots.
const (
	askedFor, soldThen, turnedAway  = "asked for", "accepted", "refused"
	soldP50, soldP99, turnedAwayP99 = "accepted, p50", "accepted, p99", "refused, p99"
)

// overload offers too much between calm times, in this process.
func (s *shop) overload(ctx context.Context) (experiment.Result, error) {
	f := &flood{s, newCourses(slice)}
	return s.play(ctx, experiment.Case{
		Contenders: []experiment.Contender{{Name: flooded, Ours: true, Play: f.play}},
		Metrics: []experiment.Metric{
			{Name: capacity},
			{Name: offered},
			{Name: goodput, Exact: true},
			{Name: toCapacity, Exact: true},
			{Name: calmP50},
			{Name: calmP99},
			{Name: p50},
			{Name: p99, Exact: true},
			{Name: refusedP50},
			{Name: refusedP99},
			{Name: back, Exact: true},
			{Name: taken, Sum: true},
			{Name: refused, Sum: true},
			{Name: unknown, Sum: true},
		},
		Targets: []experiment.Target{
			experiment.AtLeast("goodput when three times as much is offered, in parts of the capacity", experiment.Level(toCapacity, flooded), 0.9),
			experiment.AtMost("seconds until latency is normal again", experiment.Level(back, flooded), calmWithin),
		},
		About: func(experiment.Result) []string { return []string{flooded} },
		Plots: f.plots,
	}, s.config.Scale.LongRounds, s.config.Scale.Calm+s.config.Scale.Overload+s.config.Scale.Recovery)
}

// play finds the capacity, and then offers less, too much, and less again, without a break.
func (f *flood) play(ctx context.Context, _ time.Duration) (experiment.Sample, error) {
	scale := f.config.Scale
	sku, err := f.Create(ctx, scale.Default)
	if err != nil {
		return nil, err
	}
	peak, err := load.Buy(ctx, sku, scale.Callers, 0, scale.Overload, load.Through(f.Service))
	f.AddAnswers(sku, peak.Counts[load.Accepted], peak.Unanswered)
	if err != nil {
		return nil, fmt.Errorf("find the capacity: %w", err)
	}
	can := peak.Timeline.PerSecond(scale.Overload/4, scale.Overload)
	steady := func(rate float64, length time.Duration) load.Phase {
		return load.Phase{From: rate, To: rate, Length: length}
	}
	all := load.Offer(ctx, f.Service, sku, load.Times(0, load.Even, []load.Phase{
		steady(calmly*can, scale.Calm), steady(tooMuch*can, scale.Overload), steady(calmly*can, scale.Recovery),
	}))
	counts := all.Counts(0, load.Forever)
	f.AddAnswers(sku, counts[load.Accepted], counts[load.Unknown])
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	f.show(all)
	return sampleOver(all, scale, can), nil
}

// show adds a round to the plots. Answers count at their own time, and latencies at the planned time of the order.
func (f *flood) show(all *load.Result) {
	for i, s := range all.Slots(slice) {
		perSecond := func(n int64) float64 { return float64(n) / slice.Seconds() }
		f.note(askedFor, i, perSecond(s.Offered))
		f.note(soldThen, i, perSecond(s.Answers[load.Accepted]))
		f.note(turnedAway, i, perSecond(s.Answers[load.Overloaded]))
		sold := all.LatenciesIn(s.From, s.From+slice, load.Accepted)
		f.note(soldP50, i, compare.Quantile(sold, 50))
		f.note(soldP99, i, compare.Quantile(sold, 99))
		f.note(turnedAwayP99, i, compare.Quantile(all.LatenciesIn(s.From, s.From+slice, load.Overloaded), 99))
	}
}

// sampleOver is the sample of a round in which the capacity is that much a second.
func sampleOver(all *load.Result, scale Scale, can float64) experiment.Sample {
	begins, ends := scale.Calm, scale.Calm+scale.Overload
	counts, calm := all.Counts(0, load.Forever), all.LatenciesIn(begins/2, begins, load.Accepted)
	var sold int64
	for _, s := range all.Slots(slice) {
		if s.From >= begins && s.From < ends {
			sold += s.Answers[load.Accepted]
		}
	}
	good := float64(sold) / scale.Overload.Seconds()
	sample := experiment.Sample{
		capacity: can, offered: tooMuch * can, goodput: good, toCapacity: compare.Ratio(good, can),
		back:  calmAgain(all, ends, ends+scale.Recovery, normal*calm.Quantile(99)).Seconds(),
		taken: float64(counts[load.Accepted]), refused: float64(counts[load.Overloaded]), unknown: float64(counts[load.Unknown]),
	}
	for metrics, waits := range map[[2]string]*latency.Histogram{
		{calmP50, calmP99}:       calm,
		{p50, p99}:               all.LatenciesIn(begins, ends, load.Accepted),
		{refusedP50, refusedP99}: all.LatenciesIn(begins, ends, load.Overloaded),
	} {
		sample[metrics[0]], sample[metrics[1]] = compare.Quantile(waits, 50), compare.Quantile(waits, 99)
	}
	return sample
}

// calmAgain is how long it took from a time on until a slice had no refusal and an acceptable p99; the whole rest if none had.
func calmAgain(all *load.Result, from, to, acceptable time.Duration) time.Duration {
	for at := from; at+slice <= to; at += slice {
		sold := all.LatenciesIn(at, at+slice, load.Accepted)
		if sold.Count() > 0 && sold.Quantile(99) <= acceptable && all.Counts(at, at+slice)[load.Overloaded] == 0 {
			return at - from
		}
	}
	return to - from
}

// plots show orders and latencies over time.
func (f *flood) plots() []report.Plot {
	x := report.Axis{Label: "seconds"}
	begins := f.config.Scale.Calm.Seconds()
	marks := []report.Mark{{X: begins, Label: "three times the capacity"}, {X: begins + f.config.Scale.Overload.Seconds(), Label: "half of it again"}}
	return []report.Plot{
		{
			Name: "overload-answers", Title: "orders asked for, accepted and refused", Kind: report.Lines,
			X: x, Y: report.Axis{Label: "orders a second"}, Marks: marks,
			Series: f.series(askedFor, soldThen, turnedAway),
		},
		{
			Name: "overload-wait", Title: "from the planned time of an order to its answer", Kind: report.Lines,
			X: x, Y: report.Axis{Label: "ms", Log: true}, Marks: marks,
			Series: f.series(soldP50, soldP99, turnedAwayP99),
		},
	}
}
