//go:build unix

package chaos

import (
	"context"
	"errors"
	"fmt"
	"time"

	"inventory/loadtest/internal/servers"
)

// Run plays rounds. What they found, the result tells; an error is of the lab's, or that ctx has ended.
func Run(ctx context.Context, c Config) (result Result, err error) {
	result = Result{Config: c, Started: time.Now()}
	kinds, err := chosen(c.Faults, c.Redis)
	if err != nil {
		return Result{}, err
	}
	s, err := openStack(ctx, c)
	if err != nil {
		return result, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	if result.Environment, err = (servers.URLs{DatabaseURL: s.database, RedisURL: s.redis.nodes[0].URL()}).Durable(ctx); err != nil {
		return result, err
	}
	for i := range c.Rounds {
		if c.For > 0 && time.Since(result.Started) > c.For {
			break
		}
		round, err := newRound(s, c.Seed+uint64(i)).play(ctx, c.Length, kinds) //nolint:gosec // no round has a number below zero
		result.Elapsed = time.Since(result.Started)
		if ctx.Err() != nil {
			result.Interrupted = true
			return result, ctx.Err()
		}
		if err != nil {
			return result, fmt.Errorf("round of seed %d: %w", c.Seed+uint64(i), err) //nolint:gosec // the same
		}
		result.Rounds = append(result.Rounds, round)
		if err := c.tell(round); err != nil {
			return result, err
		}
	}
	return result, nil
}

// tell tells of a round while others go on.
func (c Config) tell(r Round) error {
	if _, err := fmt.Fprintf(c.Progress, "chaos: seed %d: %d operations, %d accepted, %d faults, %d promises broken\n",
		r.Seed, r.Operations, r.Accepted, len(r.Faults), len(r.Broken)); err != nil {
		return fmt.Errorf("print: %w", err)
	}
	return nil
}
