package segments

import (
	"context"
	"fmt"
	"time"

	"inventory/internal/stock"
	"inventory/loadtest/internal/compare"
	"inventory/loadtest/internal/crowd"
	"inventory/loadtest/internal/experiment"
	"inventory/loadtest/internal/report"
)

// flooded is the one contender.
const flooded = "inventory"

// The metrics. Waits are those of acceptances, where nothing else is said; calm is the time before.
const (
	capacity   = "capacity per second" // found just before, with callers who wait for their answers
	offered    = "offered per second"
	goodput    = "goodput per second" // accepted
	toCapacity = "goodput ratio"
	calmP50    = "calm p50 ms"
	calmP99    = "calm p99 ms"
	refusedP50 = "refused p50 ms"
	refusedP99 = "refused p99 ms"
	unknown    = "unknown" // not told what happened, so they may have a row
)

const (
	tooMuch    = 3. // times what the service can
	calmly     = 0.5
	slice      = 100 * time.Millisecond // in which latency is looked at
	normal     = 2                      // times what acceptances took before, at most
	calmWithin = 5.                     // seconds
)

// flood is the case, with what its rounds have seen over time.
type flood struct {
	*shop
	offered, accepted, refused, acceptedP50, acceptedP99, refusedP99 course
}

func newFlood(s *shop) *flood {
	f := &flood{shop: s}
	for _, c := range []*course{&f.offered, &f.accepted, &f.refused, &f.acceptedP50, &f.acceptedP99, &f.refusedP99} {
		c.every = slice
	}
	return f
}

// overload offers too much between calm times, in this process.
func (s *shop) overload(ctx context.Context) (experiment.Result, error) {
	f := newFlood(s)
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
			{Name: "goodput when three times as much is offered, in parts of the capacity", Of: experiment.Level(toCapacity, flooded), Sign: report.MoreThan, Bound: 0.9},
			{Name: "seconds until latency is normal again", Of: experiment.Level(back, flooded), Sign: report.LessThan, Bound: calmWithin},
		},
		About: func(experiment.Result) []string { return []string{flooded} },
		Plots: f.plots,
	}, s.scale.LongRounds, s.scale.Calm+s.scale.Overload+s.scale.Recovery)
}

// play finds the capacity, and then offers less, too much, and less again, without a break.
func (f *flood) play(ctx context.Context, _ time.Duration) (experiment.Sample, error) {
	scale := f.scale
	sku, err := f.Create(ctx, scale.Default)
	if err != nil {
		return nil, err
	}
	peak, err := crowd.Buy(ctx, sku, scale.Callers, 0, scale.Overload, crowd.Through(f.Service))
	f.Tell(sku, peak.Counts.Accepted, peak.Unheard)
	if err != nil {
		return nil, fmt.Errorf("find the capacity: %w", err)
	}
	can := peak.Timeline.PerSecond(scale.Overload/4, scale.Overload)
	all := replies(offer(ctx, f.Service, sku, plan([]phase{
		{calmly * can, scale.Calm}, {tooMuch * can, scale.Overload}, {calmly * can, scale.Recovery},
	})))
	counts := all.counts()
	f.Tell(sku, counts[taken], counts[unknown])
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	f.show(all)
	return all.sample(scale, can, counts), nil
}

// counts are how many were accepted, refused, and told nothing.
func (all replies) counts() map[string]int64 {
	n := map[string]int64{}
	for _, reply := range all {
		switch reply.code {
		case "":
			n[taken]++
		case stock.CodeOverloaded:
			n[refused]++
		default:
			n[unknown]++
		}
	}
	return n
}

// sample is what a plan's answers come to, where the service can so much a second.
func (all replies) sample(scale Scale, can float64, counts map[string]int64) experiment.Sample {
	const forever = time.Hour
	begins := scale.Calm
	ends := begins + scale.Overload
	good := float64(all.of("", 0, forever).within(begins, ends)) / scale.Overload.Seconds()
	calm, sold, turnedAway := all.of("", begins/2, begins), all.of("", begins, ends), all.of(stock.CodeOverloaded, begins, ends)
	sample := experiment.Sample{
		capacity: can, offered: tooMuch * can, goodput: good, toCapacity: compare.Ratio(good, can),
		back:  all.calmAgain(ends, ends+scale.Recovery, normal*calm.quantile(99)).Seconds(),
		taken: float64(counts[taken]), refused: float64(counts[refused]), unknown: float64(counts[unknown]),
	}
	for metrics, waits := range map[[2]string]replies{{calmP50, calmP99}: calm, {p50, p99}: sold, {refusedP50, refusedP99}: turnedAway} {
		if len(waits) > 0 {
			sample[metrics[0]], sample[metrics[1]] = compare.Milliseconds(waits.quantile(50)), compare.Milliseconds(waits.quantile(99))
		}
	}
	return sample
}

// calmAgain is how long after a time it took until a slice had no refusal and an acceptable 99th percentile; the whole rest
// if none had.
func (all replies) calmAgain(from, to, acceptable time.Duration) time.Duration {
	for at := from; at+slice <= to; at += slice {
		sold := all.of("", at, at+slice)
		if len(sold) > 0 && sold.quantile(99) <= acceptable && len(all.of(stock.CodeOverloaded, at, at+slice)) == 0 {
			return at - from
		}
	}
	return to - from
}

// plots show what was asked for, what became of it, and how long that took.
func (f *flood) plots() []report.Plot {
	x := report.Axis{Label: "seconds"}
	begins := f.scale.Calm.Seconds()
	marks := []report.Mark{{X: begins, Label: "three times the capacity"}, {X: begins + f.scale.Overload.Seconds(), Label: "half of it again"}}
	return []report.Plot{
		{
			Name: "overload-answers", Title: "orders asked for, accepted and refused", Kind: report.Lines,
			X: x, Y: report.Axis{Label: "orders a second"}, Marks: marks,
			Series: seen(f.offered.series("asked for"), f.accepted.series("accepted"), f.refused.series("refused")),
		},
		{
			Name: "overload-wait", Title: "from the planned time of an order to its answer", Kind: report.Lines,
			X: x, Y: report.Axis{Label: "ms", Log: true}, Marks: marks,
			Series: seen(
				f.acceptedP50.series("accepted, p50"), f.acceptedP99.series("accepted, p99"), f.refusedP99.series("refused, p99"),
			),
		},
	}
}
