package tail

import (
	"context"
	"errors"
	"fmt"
	"time"

	"inventory/internal/app"
	"inventory/internal/progress"
	"inventory/loadtest/internal/history"
	"inventory/loadtest/internal/load"
	"inventory/loadtest/internal/report"
	"inventory/loadtest/internal/servers"
	"inventory/loadtest/internal/target"
)

const (
	sellers     = 3
	connections = 64 // to each process
	// answerWithin is how long a process may write for a request: as little as the product allows itself.
	answerWithin = 2 * time.Second
)

// stand is what all rounds stand on.
type stand struct {
	Config
	databaseURL string
	redisURL    string // several with commas in between for RedLocks
	environment report.Environment
	warnings    []string
	live        *progress.Live
	begun       time.Time // of the first round
	witness     *witness
	servers.Closers
}

// open starts or reaches the servers. Whoever opens a stand closes it, also after an error.
func (s *stand) open(ctx context.Context) error {
	on, err := servers.Prepare(ctx, servers.URLs{RedisURL: s.RedisURL, DatabaseURL: s.DatabaseURL}, servers.Needs{
		Durable: true, Database: "tail_", Generator: fmt.Sprintf("this program, open loop, %d connections to each process", connections),
	})
	if err != nil {
		return err
	}
	s.OnClose(on.Close)
	if s.redisURL = on.RedisURL; s.RedisURL == "" && s.Lock == app.LockRed {
		const nodes = 3
		for range nodes - 1 {
			more, err := servers.Open(ctx, servers.URLs{DatabaseURL: on.DatabaseURL})
			if err != nil {
				return err
			}
			s.OnClose(more.Close)
			s.redisURL += "," + more.RedisURL
		}
	}
	s.environment, s.warnings = on.About, on.Warnings
	s.environment.Target = fmt.Sprintf("%d processes of the service, over HTTP", sellers)
	s.environment.Measurement = append(s.environment.Measurement,
		"latency from the planned send", fmt.Sprintf("%s arrivals", load.Poisson), fmt.Sprintf("%d rounds of each kind", s.Rounds))
	s.databaseURL = on.DatabaseURL
	if s.witness, err = openWitness(s.Lock, s.redisURL); err != nil {
		return err
	}
	s.OnClose(s.witness.close)
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
func (s *stand) start(ctx context.Context) (all fleet, err error) {
	for n := range sellers {
		service, err := s.Process.Start(ctx, target.Job{
			DatabaseURL: s.databaseURL, RedisURL: s.redisURL, Lock: s.Lock, AnswerWithin: answerWithin,
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
