package tail

import (
	"context"
	"errors"

	"inventory/loadtest/internal/history"
	"inventory/loadtest/internal/load"
	"inventory/loadtest/internal/target"
)

// process is a process of the service.
type process struct {
	*target.Service
	number int
	names  map[string]bool // of the process at the locks
	dead   bool
}

// fleet are the processes of a round.
type fleet []*process

// start starts the processes.
func (t *Tail) start(ctx context.Context) (all fleet, err error) {
	for n := range sellers {
		service, err := t.Process.Start(ctx, target.Job{
			DatabaseURL: t.Drill.DatabaseURL, RedisURL: t.redisURL, Lock: t.Lock, AnswerWithin: answerWithin,
		})
		if err != nil {
			return nil, errors.Join(err, all.end())
		}
		all = append(all, &process{Service: service, number: n, names: map[string]bool{}})
	}
	return all, nil
}

// services connects to the processes.
func (all fleet) services() (*load.Services, error) {
	c := load.Config{Connections: connections * len(all), Promise: history.Promise{AnswerWithin: answerWithin}}
	for _, p := range all {
		c.URLs = append(c.URLs, p.URL)
	}
	return load.Open(c)
}

// others retries an order that a process did not answer: at the next process, but never at the victim, which may be nil.
func (all fleet) others(victim *process, asked int) load.Persistence {
	next := func(before int) int {
		n := (before + 1) % len(all)
		if victim != nil && n == victim.number {
			n = (n + 1) % len(all)
		}
		return n
	}
	return load.Persistence{First: next(asked), Next: next}
}

// kill ends a process as a crash would.
func (p *process) kill() error {
	p.dead = true
	return p.Kill()
}

// end ends the processes that live.
func (all fleet) end() error {
	var errs []error
	for _, p := range all {
		if !p.dead {
			errs = append(errs, p.End())
		}
	}
	return errors.Join(errs...)
}
