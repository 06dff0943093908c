//go:build unix

package servertest

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"sync"

	"github.com/jackc/pgx/v5"

	"inventory/deploy/compose"
)

// Citus is a cluster of private PostgreSQL servers. Without workers the coordinator has all shards.
type Citus struct {
	Coordinator *Postgres
	Workers     []*Postgres
	options     []PostgresOption
	making      sync.Mutex // a database: adding a node changes roles, which all databases share
}

// citusSettings returns the settings of every node, which are those of docker-compose.
func citusSettings() (settings []PostgresOption) {
	for line := range strings.Lines(compose.Citus) {
		line, _, _ = strings.Cut(line, "#")
		if name, value, is := strings.Cut(line, " = "); is {
			settings = append(settings, Setting(name, strings.Trim(strings.TrimSpace(value), "'")))
		}
	}
	return settings
}

// StartCitus starts a coordinator and that many workers. The extension must be installed.
func StartCitus(ctx context.Context, workers int, options ...PostgresOption) (*Citus, error) {
	c := &Citus{options: append(citusSettings(), options...)}
	var err error
	if c.Coordinator, err = StartPostgres(ctx, c.options...); err != nil {
		return nil, err
	}
	for range workers {
		if _, err := c.StartWorker(ctx); err != nil {
			return nil, errors.Join(err, c.Stop())
		}
	}
	return c, nil
}

// Options returns the options of each node, for a standby of one.
func (c *Citus) Options() []PostgresOption { return c.options }

// StartWorker starts one more server. Databases that are created later have it as a node; [Citus.Join] adds it to an
// existing one.
func (c *Citus) StartWorker(ctx context.Context) (*Postgres, error) {
	worker, err := StartPostgres(ctx, c.options...)
	if err != nil {
		return nil, err
	}
	c.Workers = append(c.Workers, worker)
	return worker, nil
}

// CreateDatabase makes an empty database with a fresh name on all nodes, and returns its URL at the coordinator. The
// returned drop removes it again.
func (c *Citus) CreateDatabase(ctx context.Context) (string, func(context.Context) error, error) {
	c.making.Lock()
	defer c.making.Unlock()
	at, drop, err := c.Coordinator.CreateDatabase(ctx, "")
	if err != nil {
		return "", nil, err
	}
	statement := fmt.Sprintf("CREATE EXTENSION citus; SELECT citus_set_coordinator_host('127.0.0.1', %d)", c.Coordinator.port)
	if len(c.Workers) == 0 {
		statement += fmt.Sprintf("; SELECT citus_set_node_property('127.0.0.1', %d, 'shouldhaveshards', true)", c.Coordinator.port)
	}
	if err := executeAt(ctx, at, statement); err != nil {
		return "", nil, errors.Join(fmt.Errorf("making a database of Citus: %w", err), drop(ctx))
	}
	for _, worker := range c.Workers {
		if err := c.Join(ctx, at, worker); err != nil {
			return "", nil, errors.Join(err, drop(ctx))
		}
	}
	return at, func(ctx context.Context) error { return c.drop(ctx, at, drop) }, nil
}

// Join makes a worker a node of a database. The worker gets no shards by that.
func (c *Citus) Join(ctx context.Context, databaseURL string, worker *Postgres) error {
	name, err := databaseName(databaseURL)
	if err != nil {
		return err
	}
	there, err := worker.At(databaseURL)
	if err != nil {
		return err
	}
	if err := worker.execute(ctx, "CREATE DATABASE "+pgx.Identifier{name}.Sanitize()+" TEMPLATE template0"); err != nil {
		return fmt.Errorf("making a database on a worker: %w", err)
	}
	if err := executeAt(ctx, there, "CREATE EXTENSION citus"); err != nil {
		return fmt.Errorf("making a database on a worker: %w", err)
	}
	if err := executeAt(ctx, databaseURL, fmt.Sprintf("SELECT citus_add_node('127.0.0.1', %d)", worker.port)); err != nil {
		return fmt.Errorf("adding a node: %w", err)
	}
	return nil
}

// drop removes a database on all nodes that run.
func (c *Citus) drop(ctx context.Context, databaseURL string, atCoordinator func(context.Context) error) error {
	name, err := databaseName(databaseURL)
	if err != nil {
		return err
	}
	// The daemon of Citus for each database may connect again before the database is dropped.
	return await(ctx, "a database of Citus to go", func(ctx context.Context) error {
		errs := []error{atCoordinator(ctx)}
		for _, worker := range c.Workers {
			errs = append(errs, worker.execute(ctx, "DROP DATABASE IF EXISTS "+pgx.Identifier{name}.Sanitize()+" WITH (FORCE)"))
		}
		return errors.Join(errs...)
	})
}

// Stop ends all servers and removes their folders.
func (c *Citus) Stop() error {
	errs := []error{c.Coordinator.Stop()}
	for _, worker := range c.Workers {
		errs = append(errs, worker.Stop())
	}
	return errors.Join(errs...)
}

// At returns the URL of a database of the same name at this server.
func (p *Postgres) At(databaseURL string) (string, error) {
	u, err := url.Parse(databaseURL)
	if err != nil {
		return "", fmt.Errorf("reading the URL of a database: %w", err)
	}
	u.Host = p.Addr()
	return u.String(), nil
}

// Port returns the server's port.
func (p *Postgres) Port() int { return p.port }
