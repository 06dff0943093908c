// Package target is where a scenario's load goes, and whose rows are audited afterwards.
//
// There are four kinds. Without URLs, the service runs inside, on a temporary SQLite file and the embedded Redis.
// With private servers, it runs inside, on a PostgreSQL and a Redis started for it. With a database or Redis URL, it
// runs inside on those. With service URLs nothing is started.
//
// Inside is a process of its own that the lab starts, whose work can be told from that of whoever sends load.
package target

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	sqlite "modernc.org/sqlite/lib"

	"inventory/internal/app"
	"inventory/loadtest/internal/report"
	"inventory/loadtest/internal/servers"
)

// AnswerWithin is how long services that the lab starts may write for a request: as long as its senders wait, so that what is
// late shows as late.
const AnswerWithin = 10 * time.Second

// drainTimeout bounds the end of the service inside.
const drainTimeout = 10 * time.Second

// Config chooses the target: flags of scenarios, and where the service inside runs. At most one of the kinds may be asked for;
// Check tells.
type Config struct {
	Private     bool       `name:"private-servers" help:"Start a PostgreSQL and a Redis for this run alone, and the service inside on them. Default: off."`
	DatabaseURL string     `help:"Start the service inside on this database, or audit that of --url: postgres://USER:PASSWORD@HOST:PORT/DATABASE, or sqlite:FILE. Default: a temporary SQLite file." placeholder:"URL"`
	RedisURL    string     `help:"Start the service inside on this Redis: redis://USER:PASSWORD@HOST:PORT/DB, or rediss://… with TLS. Default: one inside the process." placeholder:"URL"`
	LogLevel    slog.Level `help:"Least level of what the service inside logs: debug, info, warn or error. Default: ${default}." default:"error" placeholder:"LEVEL"`
	APIKey      string     `name:"api-key" env:"INVENTORY_API_KEY" secret:"" help:"API key of the scope admin for the services of --url. Better in the environment, where other users do not see it. Default: none." placeholder:"KEY"`
	ServiceURLs []string   `name:"url" help:"Base URLs of running services that share a database, separated by commas; needs --database-url. Default: start the service inside." placeholder:"URL"`

	Process Process `kong:"-"`
}

// Target is a service to send load to.
type Target struct {
	URLs []string // of the API
	Name string   // for people; without secrets
	// AdminURLs are those of the services that were started here, which serve metrics there.
	AdminURLs []string
	// RedisURL is where the service that was started here keeps its locks; "" is one inside it, or that of others.
	RedisURL string
	// PostmasterPID is the process of a PostgreSQL that was started here; 0: none was.
	PostmasterPID int

	databaseURL string
	closers     servers.Closers // of what Open did
}

// Open starts what has to be started, and makes sure that what has to be there answers. On an error everything that
// was started is stopped.
func Open(ctx context.Context, c Config) (t *Target, err error) {
	t = &Target{databaseURL: c.DatabaseURL}
	defer func() {
		if err != nil {
			err = errors.Join(err, t.Close())
			t = nil
		}
	}()
	if err := c.Check(); err != nil {
		return nil, err
	}
	if len(c.ServiceURLs) > 0 {
		return t, t.useRunning(ctx, c.ServiceURLs, c.APIKey)
	}
	return t, t.startInside(ctx, c)
}

// startInside starts the service.
func (t *Target) startInside(ctx context.Context, c Config) error {
	redisURL, redisName := c.RedisURL, "Redis at --redis-url"
	if redisURL == "" || redisURL == app.Embedded {
		redisURL, redisName = app.Embedded, "the embedded Redis"
	}
	databaseName := "PostgreSQL at --database-url"
	if strings.HasPrefix(c.DatabaseURL, "sqlite:") {
		databaseName = "the SQLite file at --database-url"
	}
	switch {
	case c.Private:
		private, err := servers.Open(ctx, servers.URLs{})
		if err != nil {
			return err
		}
		t.closers.OnClose(private.Close)
		t.databaseURL, redisURL, t.PostmasterPID = private.DatabaseURL, private.RedisURL, private.PostmasterPID
		databaseName, redisName = "a private PostgreSQL", "a private Redis"
	case c.DatabaseURL == "":
		folder, err := os.MkdirTemp("", "inventory-loadtest-")
		if err != nil {
			return fmt.Errorf("make a temporary folder: %w", err)
		}
		t.closers.OnClose(func() error { return os.RemoveAll(folder) })
		t.databaseURL, databaseName = "sqlite:"+filepath.Join(folder, "inventory.db"), "a temporary SQLite file"
	}
	t.Name = "the service inside, on " + databaseName + " and " + redisName
	if redisURL != app.Embedded {
		t.RedisURL = redisURL
	}
	s, err := c.Process.Start(ctx, Job{DatabaseURL: t.databaseURL, RedisURL: redisURL, AnswerWithin: AnswerWithin})
	if err != nil {
		return err
	}
	t.closers.OnClose(s.End)
	t.URLs, t.AdminURLs = []string{s.URL}, []string{s.AdminURL}
	return nil
}

// Started tells whether the services were started here.
func (t *Target) Started() bool { return len(t.AdminURLs) > 0 }

// DatabaseURL is where the rows are. It may hold a password.
func (t *Target) DatabaseURL() string { return t.databaseURL }

// Close stops and removes what Open has started.
func (t *Target) Close() error { return t.closers.Close() }

// Environment is what figures depend on beside what is measured, as far as it can be known: running services do not tell
// where their locks are.
func (t *Target) Environment(ctx context.Context) (report.Environment, error) {
	e := servers.Machine(ctx)
	e.Target = t.Name
	if strings.HasPrefix(t.databaseURL, "sqlite:") {
		e.SQLite = sqlite.SQLITE_VERSION
	} else if err := servers.AskPostgreSQL(ctx, t.databaseURL, &e); err != nil {
		return e, err
	}
	switch {
	case t.RedisURL != "":
		return e, servers.AskRedis(ctx, t.RedisURL, &e)
	case t.Started():
		e.Redis = "embedded"
	}
	return e, nil
}
