//go:build unix

package chaos

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"net/url"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"

	"inventory/internal/faultproxy"
	"inventory/loadtest/internal/history"
	"inventory/loadtest/internal/load"
	"inventory/loadtest/internal/servers"
	"inventory/loadtest/internal/target"
)

const startWithin = 30 * time.Second

// stack is the whole service: a PostgreSQL, a Redis or a group of them, and processes that reach each over networks of their
// own, but for a group.
type stack struct {
	*servers.Servers // whose addresses have no network of ours
	redis            *redisServers
	processes        [processes]*process
}

// process is one process of the service.
type process struct {
	stack    *stack
	program  target.Process
	job      target.Job
	postgres *faultproxy.Proxy // the network to it
	redis    *faultproxy.Proxy // nil: a group, to which there is none
	worker   *target.Service   // nil: it does not run
	url      atomic.Pointer[string]
}

// start starts everything.
func start(ctx context.Context, c Config) (_ *stack, err error) {
	var given servers.URLs
	var opened servers.Closers
	s := &stack{}
	if s.redis, err = openGroup(ctx, c.Redis, &opened); err != nil {
		return nil, err
	}
	if s.redis != nil {
		given.RedisURL = s.redis.nodes[0].URL()
	}
	if s.Servers, err = servers.Open(ctx, given, servers.Needs{}); err != nil {
		return nil, errors.Join(err, opened.Close())
	}
	s.OnClose(opened.Close)
	if s.redis == nil {
		s.redis = alone(s.Redis)
	}
	if s.About, err = s.Environment(ctx, true); err == nil {
		err = s.MakeDatabase(ctx, "chaos_")
	}
	for i := range s.processes {
		if err == nil {
			s.processes[i], err = s.openProcess(ctx, c)
		}
	}
	if err == nil {
		err = servers.Execute(ctx, s.DatabaseURL, fences)
	}
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

//go:embed fences.sql
var fences string

// readFences reads how often a row of each SKU was written under an older token.
func (s *stack) readFences(ctx context.Context, skus []history.SKU) error {
	return servers.Connected(ctx, s.DatabaseURL, func(conn *pgx.Conn) error {
		for i := range skus {
			if err := conn.QueryRow(ctx, `SELECT count(*) FROM chaos_fences WHERE sku_id = $1`, skus[i].Name).Scan(&skus[i].FencesFell); err != nil {
				return err
			}
		}
		return nil
	})
}

// open opens connections to the processes, whose URLs change.
func (s *stack) open() (*load.Services, error) {
	now := func(process int) string { return *s.processes[process].url.Load() }
	c := load.Config{URL: now, Connections: callers, Patience: patience, Promise: history.Promise{AnswerWithin: answerBound}}
	for i := range s.processes {
		c.URLs = append(c.URLs, now(i))
	}
	return load.Open(c)
}

func (s *stack) openProcess(ctx context.Context, c Config) (*process, error) {
	database, err := url.Parse(s.DatabaseURL)
	if err != nil {
		return nil, fmt.Errorf("read the address of PostgreSQL: %w", err)
	}
	p := &process{stack: s, program: c.Process}
	if p.postgres, err = faultproxy.Start(ctx, database.Host); err != nil {
		return nil, err
	}
	s.OnClose(p.postgres.Close)
	database.Host = p.postgres.Addr()
	p.job = target.Job{DatabaseURL: database.String(), RedisURL: s.redis.url, Lock: c.Lock}
	if c.Redis == OneRedis {
		if p.redis, err = faultproxy.Start(ctx, s.redis.nodes[0].Addr()); err != nil {
			return nil, err
		}
		s.OnClose(p.redis.Close)
		p.job.RedisURL = "redis://" + p.redis.Addr() + "/0"
	}
	s.OnClose(func() error { return p.kill(ctx) })
	return p, p.start(ctx)
}

// start starts a process that does not run, and tries again while its servers are away.
func (p *process) start(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startWithin)
	defer cancel()
	for {
		running, err := p.program.Start(ctx, p.job)
		if err == nil {
			p.worker = running
			p.url.Store(&running.URL)
			return nil
		}
		if ctx.Err() != nil {
			return err
		}
		load.Sleep(ctx, 100*time.Millisecond)
	}
}

// kill ends a process as a crash does, if it runs.
func (p *process) kill(context.Context) error {
	if p.worker == nil {
		return nil
	}
	defer func() { p.worker = nil }()
	return p.worker.Kill()
}

// terminate ends a process as an operator does.
func (p *process) terminate(context.Context) error {
	defer func() { p.worker = nil }()
	return p.worker.End()
}

// ready waits until all processes serve.
func (s *stack) ready(ctx context.Context, services *load.Services) error {
	ctx, cancel := context.WithTimeout(ctx, startWithin)
	defer cancel()
	if err := soon(ctx, s.redis.settled); err != nil {
		return err
	}
	for i := range s.processes {
		// A process needs the database to answer that there is no such SKU.
		o := history.Operation{Kind: history.Look, Lines: []history.Line{{SKU: "none"}}}
		if _, err := services.Ask(ctx, &o, load.Persistence{First: i, Next: func(int) int { return i }, For: startWithin}); err != nil {
			return fmt.Errorf("process %d is not ready: %w", i, err)
		}
	}
	return nil
}
