package contenders

import (
	"context"
	"fmt"
	"time"

	"inventory/loadtest/internal/books"
	"inventory/loadtest/internal/crowd"
)

// entrant is a contender that plays one round after another.
type entrant struct {
	name    string
	ours    bool
	callers int
	// answers means that every right answer counts, and not the acceptances alone.
	answers bool
	// measure plays a round.
	measure func(ctx context.Context) (round, error)

	rounds []round
	failed error
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

// play plays a round. An entrant that failed once does not play again. A round that the end of ctx has cut short tells
// nothing of speed; what it has sold is written down.
func (e *entrant) play(ctx context.Context, told books.Ledger, number int) {
	if e.failed != nil {
		return
	}
	r, err := e.measure(ctx)
	if r.sku != "" {
		told.Add(r.sku, r.counts.Accepted, r.unheard)
	}
	if ctx.Err() != nil {
		return
	}
	if err != nil {
		e.failed = fmt.Errorf("round %d: %w", number+1, err)
		return
	}
	e.rounds = append(e.rounds, r)
}

// perSecond is what counts, of each round.
func (e *entrant) perSecond() (all []float64) {
	for _, r := range e.rounds {
		n := r.counts.Accepted
		if e.answers {
			n += r.counts.Replayed + r.counts.Refused
		}
		all = append(all, float64(n)/r.took.Seconds())
	}
	return all
}

// roundOf is a sale as a round of a contender.
func roundOf(s crowd.Sale, sku string) round {
	return round{sku: sku, counts: s.Counts, unheard: s.Unheard, took: s.Took, p50: s.Waits.Quantile(50), p99: s.Waits.Quantile(99)}
}
