package segments

import (
	"context"
	"fmt"
	"time"

	"inventory/internal/stock"
	"inventory/loadtest/internal/compare"
	"inventory/loadtest/internal/crowd"
	"inventory/loadtest/internal/report"
)

// Overload is what the service does when three times as much is asked for as it can sell: medians of its rounds.
type Overload struct {
	Segments   int     `json:"segments"`
	Capacity   float64 `json:"capacity_per_second"` // found just before, with callers who wait for their answers
	Offered    float64 `json:"offered_per_second"`
	Goodput    float64 `json:"goodput_per_second"` // accepted
	ToCapacity float64 `json:"goodput_ratio"`
	Spread     Spread  `json:"goodput_ratio_spread"`
	CalmP50    float64 `json:"calm_p50_ms"` // of acceptances, before
	CalmP99    float64 `json:"calm_p99_ms"`
	P50        float64 `json:"p50_ms"` // of acceptances, meanwhile
	P99        float64 `json:"p99_ms"`
	RefusedP50 float64 `json:"refused_p50_ms"`
	RefusedP99 float64 `json:"refused_p99_ms"`
	Back       float64 `json:"back_seconds"` // until acceptances take no more than twice what they took before, and nobody is refused
	Accepted   int64   `json:"accepted"`     // of all rounds
	Refused    int64   `json:"refused"`      // told that the service is overloaded
	Unknown    int64   `json:"unknown"`      // not told what happened, so they may have a row
	Rounds     int     `json:"rounds"`

	targets                                                          []report.Target
	from, to                                                         float64 // when too much was offered, in seconds
	offered, accepted, refused, acceptedP50, acceptedP99, refusedP99 course
}

const (
	tooMuch    = 3. // times what the service can
	calmly     = 0.5
	slice      = 100 * time.Millisecond // in which latency is looked at
	normal     = 2                      // times what acceptances took before, at most
	calmWithin = 5.                     // seconds
)

// overload offers too much between calm times, in this process. Rounds that were over before an error are measured;
// without any there is nothing.
func (s *shop) overload(ctx context.Context) (*Overload, error) {
	out := &Overload{Segments: s.Scale.Default, from: s.Scale.Calm.Seconds(), to: (s.Scale.Calm + s.Scale.Overload).Seconds()}
	for _, c := range []*course{&out.offered, &out.accepted, &out.refused, &out.acceptedP50, &out.acceptedP99, &out.refusedP99} {
		c.every = slice
	}
	var rounds []flood
	for range s.Scale.Rounds {
		r, err := s.flood(ctx)
		if err != nil {
			return out.settle(rounds), err
		}
		out.show(r.all)
		r.all = nil // it is large
		rounds = append(rounds, r)
	}
	out = out.settle(rounds)
	out.targets = []report.Target{
		report.AtLeast("goodput when three times as much is offered, in parts of the capacity", out.ToCapacity, 0.9),
		report.AtMost("seconds until latency is normal again", out.Back, calmWithin),
	}
	return out, nil
}

// settle is the figures of all rounds, nil without any.
func (o *Overload) settle(rounds []flood) *Overload {
	if len(rounds) == 0 {
		return nil
	}
	o.Rounds = len(rounds)
	for _, r := range rounds {
		o.Accepted, o.Refused, o.Unknown = o.Accepted+r.accepted, o.Refused+r.refused, o.Unknown+r.unknown
	}
	median := func(figure func(r flood) float64) (float64, []float64) {
		var values []float64
		for _, r := range rounds {
			values = append(values, figure(r))
		}
		return compare.Median(values), values
	}
	for to, figure := range map[*float64]func(r flood) float64{
		&o.Capacity:   func(r flood) float64 { return r.capacity },
		&o.Offered:    func(r flood) float64 { return tooMuch * r.capacity },
		&o.Goodput:    func(r flood) float64 { return r.goodput },
		&o.CalmP50:    func(r flood) float64 { return compare.Milliseconds(r.calm.quantile(50)) },
		&o.CalmP99:    func(r flood) float64 { return compare.Milliseconds(r.calm.quantile(99)) },
		&o.P50:        func(r flood) float64 { return compare.Milliseconds(r.sold.quantile(50)) },
		&o.P99:        func(r flood) float64 { return compare.Milliseconds(r.sold.quantile(99)) },
		&o.RefusedP50: func(r flood) float64 { return compare.Milliseconds(r.turnedAway.quantile(50)) },
		&o.RefusedP99: func(r flood) float64 { return compare.Milliseconds(r.turnedAway.quantile(99)) },
		&o.Back:       func(r flood) float64 { return r.back.Seconds() },
	} {
		*to, _ = median(figure)
	}
	ratio, all := median(func(r flood) float64 { return compare.Ratio(r.goodput, r.capacity) })
	o.ToCapacity, o.Spread = ratio, spreadOf(all)
	return o
}

// flood is a round.
type flood struct {
	capacity, goodput          float64
	all                        replies
	calm, sold, turnedAway     replies // accepted before; accepted, and refused, meanwhile
	back                       time.Duration
	accepted, refused, unknown int64
}

// flood finds the capacity, and then offers less, too much, and less again, without a break.
func (s *shop) flood(ctx context.Context) (r flood, err error) {
	sku, err := s.create(ctx, s.Scale.Default)
	if err != nil {
		return flood{}, err
	}
	peak, err := crowd.Buy(ctx, sku, s.Scale.Callers, 0, s.Scale.Overload, crowd.Through(s.service))
	s.told.Add(sku, peak.Counts.Accepted, peak.Unheard)
	if err != nil {
		return flood{}, fmt.Errorf("find the capacity: %w", err)
	}
	r.capacity = peak.Timeline.PerSecond(s.Scale.Overload/4, s.Scale.Overload)
	begins := s.Scale.Calm
	ends := begins + s.Scale.Overload
	r.all = offer(ctx, s.service, sku, plan([]phase{
		{calmly * r.capacity, s.Scale.Calm}, {tooMuch * r.capacity, s.Scale.Overload}, {calmly * r.capacity, s.Scale.Recovery},
	}))
	all := r.all
	for _, reply := range all {
		switch reply.code {
		case "":
			r.accepted++
		case stock.CodeOverloaded:
			r.refused++
		default:
			r.unknown++
		}
	}
	s.told.Add(sku, r.accepted, r.unknown)
	const forever = time.Hour
	r.goodput = float64(all.of("", 0, forever).within(begins, ends)) / s.Scale.Overload.Seconds()
	r.calm, r.sold, r.turnedAway = all.of("", begins/2, begins), all.of("", begins, ends), all.of(stock.CodeOverloaded, begins, ends)
	r.back = all.calmAgain(ends, ends+s.Scale.Recovery, normal*r.calm.quantile(99))
	return r, context.Cause(ctx)
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
