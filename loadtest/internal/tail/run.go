package tail

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"inventory/internal/progress"
	"inventory/loadtest/internal/books"
	"inventory/loadtest/internal/report"
	"inventory/loadtest/internal/servers"
)

// Config says what to sell, where, and how often.
type Config struct {
	servers.URLs
	Lock     string  // the kind of lock of the segments, as serve knows them
	Seed     uint64  // decides sizes, quantities and times
	Rounds   int     // of each kind
	Stock    int64   // of which the tail is a hundredth
	Segments int     //
	Rate     float64 // orders a second
	Worker   []string
	Progress io.Writer // where a person watches
}

// preparation is about how long a round takes before the first buyer comes, for who watches.
const preparation = 2 * time.Second

// Result is what the rounds came to.
type Result struct {
	Started     time.Time // zero: there is nothing to tell
	Rounds      []Round
	Stopped     error // why there are no more rounds; nil: these are all
	Wrong       []string
	AuditOK     bool
	SKUs        int
	Environment report.Environment
	took        time.Duration
	config      Config
}

// Run sells tails and audits them. What ends it early, a ctx that is over among it, is told beside the rounds until then.
func Run(ctx context.Context, c Config) (result Result, err error) {
	began := time.Now()
	s, err := openShop(ctx, c)
	defer func() { err = errors.Join(err, s.close(context.WithoutCancel(ctx))) }()
	if err != nil {
		return Result{}, err
	}
	result = Result{config: c, Started: began, Environment: s.environment}
	result.Stopped = s.rounds(ctx, &result)
	if ctx.Err() != nil {
		result.Stopped = fmt.Errorf("the sale was stopped: %w", context.Cause(ctx))
	} else if result.Stopped != nil && len(result.Rounds) == 0 {
		return Result{}, result.Stopped
	}
	result.took = time.Since(began)
	if s.store == nil { // nothing was sold: there may not even be tables
		result.AuditOK = true
		return result, nil
	}
	return result, s.audit(context.WithoutCancel(ctx), &result)
}

// rounds sells tails in pairs, each kind first in turn.
func (s *shop) rounds(ctx context.Context, result *Result) error {
	s.begun = time.Now()
	s.live = progress.NewLive(s.Progress, time.Duration(2*s.Rounds)*(s.length()+preparation))
	defer s.live.Finish()
	for number := range s.Rounds {
		for _, killed := range []bool{number%2 == 1, number%2 == 0} {
			r, err := s.round(ctx, number, killed)
			if err != nil {
				return fmt.Errorf("round %d, %s: %w", number+1, titles(killed), err)
			}
			result.Rounds = append(result.Rounds, r)
		}
	}
	return nil
}

// audit holds the rows against one another; each round has held its own against its buyers.
func (s *shop) audit(ctx context.Context, result *Result) error {
	audit, err := books.Audit(ctx, s.databaseURL)
	if err != nil {
		return fmt.Errorf("audit: %w", err)
	}
	for _, b := range audit.SKUs {
		if d := b.Difference(); d != 0 {
			result.Wrong = append(result.Wrong, fmt.Sprintf("SKU %s: %d units are missing", b.SKU, d))
		}
		result.Wrong = append(result.Wrong, b.Violations...)
	}
	for _, r := range result.Rounds {
		result.Wrong = append(result.Wrong, r.wrong...)
	}
	result.AuditOK, result.SKUs = len(result.Wrong) == 0, len(audit.SKUs)
	for _, r := range result.Rounds {
		result.Wrong = append(result.Wrong, r.promises()...)
	}
	return nil
}

// promises are those that a round has broken.
func (r Round) promises() (broken []string) {
	sku := r.course.sku
	if r.Stranded > 0 {
		broken = append(broken, fmt.Sprintf("SKU %s: %d units are stranded", sku, r.Stranded))
	}
	if r.FalseRefusals > 0 {
		broken = append(broken, fmt.Sprintf("SKU %s: %d refusals were false", sku, r.FalseRefusals))
	}
	return broken
}

// Err is what must not happen, and did.
func (r Result) Err() error {
	if len(r.Wrong) > 0 {
		return errors.Join(r.Stopped, fmt.Errorf("%d things are wrong, the first: %s", len(r.Wrong), r.Wrong[0]))
	}
	return r.Stopped
}
