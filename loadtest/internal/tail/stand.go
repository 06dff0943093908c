package tail

import (
	"context"
	"errors"
	"fmt"
	"time"

	"inventory/internal/app"
	"inventory/loadtest/internal/history"
	"inventory/loadtest/internal/load"
	"inventory/loadtest/internal/servers"
	"inventory/loadtest/internal/target"
)

const (
	sellers     = 3
	connections = 64 // to each process
	// answerWithin is how long a process may write for a request: as little as the product allows itself.
	answerWithin = 2 * time.Second
)

// open starts or reaches the servers.
func (t *Tail) open(ctx context.Context) error {
	on, err := servers.Prepare(ctx, servers.URLs{RedisURL: t.RedisURL, DatabaseURL: t.Config.DatabaseURL}, servers.Needs{
		Durable: true, Database: "tail_", Generator: fmt.Sprintf("this program, open loop, %d connections to each process", connections),
	})
	if err != nil {
		return err
	}
	t.OnClose(on.Close)
	if t.redisURL = on.RedisURL; t.RedisURL == "" && t.Lock == app.LockRed {
		const nodes = 3
		for range nodes - 1 {
			more, err := servers.Open(ctx, servers.URLs{DatabaseURL: on.DatabaseURL})
			if err != nil {
				return err
			}
			t.OnClose(more.Close)
			t.redisURL += "," + more.RedisURL
		}
	}
	t.Drill.DatabaseURL, t.Environment, t.warnings = on.DatabaseURL, on.About, on.Warnings
	t.Environment.Target = fmt.Sprintf("%d processes of the service, over HTTP", sellers)
	t.Environment.Measurement = append(t.Environment.Measurement,
		"latency from the planned send", fmt.Sprintf("%s arrivals", load.Poisson), fmt.Sprintf("%d rounds of each kind", t.Rounds))
	if t.witness, err = openWitness(t.Lock, t.redisURL); err != nil {
		return err
	}
	t.OnClose(t.witness.close)
	return nil
}

// process is one that sells.
type process struct {
	*target.Service
	number int
	names  map[string]bool // by which locks know it
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

// services are connections to the processes.
func (all fleet) services() (*load.Services, error) {
	c := load.Config{Connections: connections * len(all), Promise: history.Promise{AnswerWithin: answerWithin}}
	for _, p := range all {
		c.URLs = append(c.URLs, p.URL)
	}
	return load.Open(c)
}

// kill ends a process as a crash would.
func (p *process) kill() error {
	p.dead = true
	return p.Kill()
}

// end ends those that live.
func (all fleet) end() error {
	var errs []error
	for _, p := range all {
		if !p.dead {
			errs = append(errs, p.End())
		}
	}
	return errors.Join(errs...)
}
