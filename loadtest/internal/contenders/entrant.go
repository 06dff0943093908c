package contenders

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"inventory/loadtest/internal/compare"
	"inventory/loadtest/internal/crowd"
	"inventory/loadtest/internal/experiment"
)

// entrant is a contender that sells, or answers.
type entrant struct {
	name    string
	ours    bool
	callers int
	// answers means that every right answer counts, and not the acceptances alone.
	answers bool
	// measure plays a round.
	measure func(ctx context.Context) (round, error)

	skus []string // of each round
}

// round is what came of one.
type round struct {
	sku      string // "": nothing was sold
	counts   crowd.Counts
	unheard  int64 // requests whose answers nobody waited for
	repeated int64 // requests with order ids that were sent before
	took     time.Duration
	p50      time.Duration
	p99      time.Duration
	share    float64 // of the whole, that the process with the least got; 0 where there is one process
}

// at is the name of an entrant with so many callers, or connections.
func at(name string, callers int) string { return fmt.Sprintf("%s, %d at once", name, callers) }

// contender has an entrant's sales written down, also of a round that the end of ctx has cut short, and so tells nothing of
// speed.
func (w *world) contender(e *entrant) experiment.Contender {
	return experiment.Contender{
		Name: at(e.name, e.callers), Levels: []string{e.name, strconv.Itoa(e.callers)}, Ours: e.ours,
		Play: func(ctx context.Context, _ time.Duration) (experiment.Sample, error) {
			r, err := e.measure(ctx)
			if r.sku != "" {
				w.told.Add(r.sku, r.counts.Accepted, r.unheard)
			}
			e.skus = append(e.skus, r.sku)
			if err != nil {
				return nil, err
			}
			return r.sample(e.answers), nil
		},
	}
}

// sample is what a round tells.
func (r round) sample(allAnswers bool) experiment.Sample {
	seconds, all := r.took.Seconds(), r.counts.Accepted+r.counts.Replayed+r.counts.Refused
	s := experiment.Sample{
		accepted: float64(r.counts.Accepted) / seconds, answers: float64(all) / seconds,
		p50: compare.Milliseconds(r.p50), p99: compare.Milliseconds(r.p99),
		"accepted": float64(r.counts.Accepted), "replayed": float64(r.counts.Replayed), "refused": float64(r.counts.Refused),
		"gave up": float64(r.counts.GaveUp), "unheard": float64(r.unheard),
	}
	if s[counted] = s[accepted]; allAnswers {
		s[counted] = s[answers]
	}
	if r.p99 == 0 { // nobody was served
		delete(s, p50)
		delete(s, p99)
	}
	if r.share > 0 {
		s[leastShare] = r.share
	}
	return s
}

// roundOf is a sale as a round of a contender.
func roundOf(s crowd.Sale, sku string) round {
	return round{sku: sku, counts: s.Counts, unheard: s.Unheard, took: s.Took, p50: s.Waits.Quantile(50), p99: s.Waits.Quantile(99)}
}
