//go:build unix

package chaos

import (
	"context"
	"errors"
	"fmt"
	"time"

	"inventory/loadtest/internal/load"
	"inventory/loadtest/internal/servers"
)

// Run plays rounds. What they found, the result tells; an error is of the lab's.
func Run(ctx context.Context, c Config) (r *Result, err error) {
	r = newResult(c)
	kinds, err := chosen(c.Faults, c.Redis)
	if err != nil {
		return r, err
	}
	s, err := openStack(ctx, c)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	if r.Environment, err = (servers.URLs{DatabaseURL: s.database, RedisURL: s.redis.nodes[0].URL()}).Durable(ctx); err != nil {
		return r, err
	}
	return r, r.Play(ctx, func(ctx context.Context) error { return r.play(ctx, s, kinds) })
}

// play plays the rounds one after the other, and tells of each while others go on.
func (r *Result) play(ctx context.Context, s *stack, kinds []faultKind) error {
	began := time.Now()
	for i := range r.Rounds {
		if r.For > 0 && time.Since(began) > r.For {
			break
		}
		seed := r.Config.Seed + uint64(i) //nolint:gosec // no round has a number below zero
		round, seen, err := newRound(s, seed).play(ctx, r.Length, kinds)
		if err != nil {
			return fmt.Errorf("round of seed %d: %w", seed, err)
		}
		if r.rounds = append(r.rounds, round); r.Parts == nil {
			r.Parts = []load.Part{}
		}
		if r.Keep {
			r.Parts = append(r.Parts, load.Part{Name: fmt.Sprint("seed ", seed), Result: seen})
		}
		if _, err := fmt.Fprintf(r.Progress, "chaos: seed %d: %d operations, %d accepted, %d faults, %d promises broken\n",
			seed, round.Operations, round.Accepted, len(round.Faults), len(round.Broken)); err != nil {
			return fmt.Errorf("print: %w", err)
		}
	}
	return nil
}
