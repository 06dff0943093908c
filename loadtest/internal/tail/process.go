package tail

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"inventory/internal/app"
	"inventory/loadtest/internal/crowd"
	"inventory/loadtest/internal/worker"
)

// job is what a process of its own shall serve.
type job struct {
	DatabaseURL string `json:"database_url"`
	RedisURL    string `json:"redis_url"`
	Lock        string `json:"lock"`
}

// addresses are where a process can be reached.
type addresses struct {
	URL   string `json:"url"`
	Admin string `json:"admin_url"`
}

// Work is the service in a process that the lab has started: it tells its addresses, and serves until nobody talks any more.
func Work(ctx context.Context, in io.Reader, out io.Writer) error {
	j, lines, err := worker.Read[job](in)
	if err != nil {
		return err
	}
	config := app.Config{DatabaseURL: j.DatabaseURL, RedisURL: j.RedisURL, Lock: j.Lock}
	// A terminal sends its signals to all processes of the lab, which ends this one itself.
	return crowd.WithService(context.WithoutCancel(ctx), config, func(service *app.App) error {
		err := json.NewEncoder(out).Encode(addresses{service.URL(), service.AdminURL()})
		lines.Scan()
		return err
	})
}

// process is one that sells.
type process struct {
	addresses
	*worker.Process
	names map[string]bool // by which locks know it
	dead  bool
}

const (
	sellers = 3
	// lifetime is how long a process lives at most, whatever happens to the lab.
	lifetime = 30 * time.Minute
)

// fleet are the processes of a round.
type fleet []*process

// open starts the processes.
func (s *shop) open(ctx context.Context) (all fleet, err error) {
	defer func() {
		if err != nil {
			err = errors.Join(err, all.end())
		}
	}()
	for range sellers {
		// An interrupt ends the round, which then ends them.
		w, err := worker.Start(context.WithoutCancel(ctx), s.Worker, job{s.databaseURL, s.redisURL, s.Lock}, lifetime)
		if err != nil {
			return all, err
		}
		all = append(all, &process{Process: w, names: map[string]bool{}})
	}
	for _, p := range all {
		said, err := p.Hear()
		if err == nil {
			err = json.Unmarshal([]byte(said), &p.addresses)
		}
		if err != nil {
			return all, fmt.Errorf("wait for a process: %w", err)
		}
	}
	return all, nil
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

// urls are the addresses of all but one; nil is no exception.
func (all fleet) urls(but *process) (urls []string) {
	for _, p := range all {
		if p != but {
			urls = append(urls, p.URL)
		}
	}
	return urls
}
