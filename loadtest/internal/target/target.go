// Package target opens the service that a scenario sends load to, and audits its rows afterwards.
//
// By default the lab starts the service in a process of its own ("inside"), on a temporary SQLite file and the embedded Redis;
// with private servers on a PostgreSQL and a Redis started for it; with a database or Redis URL on those. With service URLs
// nothing is started.
package target

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	sqlite "modernc.org/sqlite/lib"

	"inventory/internal/access"
	"inventory/internal/api/client"
	"inventory/internal/app"
	"inventory/loadtest/internal/gauges"
	"inventory/loadtest/internal/report"
	"inventory/loadtest/internal/servers"
	"inventory/loadtest/internal/worker"
)

// AnswerWithin is how long services of the lab may write for a request: as long as the generator waits.
const AnswerWithin = 10 * time.Second

// drainTimeout bounds the end of the service inside.
const drainTimeout = 10 * time.Second

// Config chooses the target: flags of scenarios. Check finds flags that exclude each other.
type Config struct {
	Private     bool       `name:"private-servers" help:"Start a PostgreSQL and a Redis for this run alone, and the service inside on them. Default: off."`
	DatabaseURL string     `secret:"" help:"Start the service inside on this database, or audit that of --url: postgres://USER:PASSWORD@HOST:PORT/DATABASE, or sqlite:FILE. Default: a temporary SQLite file." placeholder:"URL"`
	RedisURL    string     `secret:"" help:"Start the service inside on this Redis: redis://USER:PASSWORD@HOST:PORT/DB, or rediss://… with TLS. Default: one inside the process." placeholder:"URL"`
	LogLevel    slog.Level `help:"Least level of what the service inside logs: debug, info, warn or error. Default: ${default}." default:"error" placeholder:"LEVEL"`
	APIKey      string     `name:"api-key" env:"INVENTORY_API_KEY" secret:"" help:"API key of the scope admin for the services of --url. Better in the environment, where other users do not see it. Default: none." placeholder:"KEY"`
	ServiceURLs []string   `name:"url" secret:"" help:"Base URLs of running services that share a database, separated by commas; needs --database-url. Default: start the service inside." placeholder:"URL"`

	Process Process `kong:"-"`
}

// Target is a service to send load to.
type Target struct {
	URLs []string // of the API
	Name string   // for people; without secrets
	// RedisURL is the Redis of the service that was started here; "": it is embedded, or not known.
	RedisURL string
	gauges.Sources
	servers.Closers // of what Open did
}

// Open starts or reaches the services of a configuration that was checked.
func Open(ctx context.Context, c Config) (t *Target, err error) {
	t = &Target{Sources: gauges.Sources{DatabaseURL: c.DatabaseURL}}
	if len(c.ServiceURLs) > 0 {
		err = t.useRunning(ctx, c.ServiceURLs, c.APIKey)
	} else {
		err = t.startInside(ctx, c)
	}
	if err != nil {
		return nil, errors.Join(err, t.Close())
	}
	return t, nil
}

// startInside starts the service.
func (t *Target) startInside(ctx context.Context, c Config) error {
	redisURL, redisName := cmp.Or(c.RedisURL, app.Embedded), "Redis at --redis-url"
	if redisURL == app.Embedded {
		redisName = "the embedded Redis"
	}
	databaseName := "PostgreSQL at --database-url"
	if strings.HasPrefix(c.DatabaseURL, "sqlite:") {
		databaseName = "the SQLite file at --database-url"
	}
	switch {
	case c.Private:
		private, err := servers.Open(ctx, servers.URLs{}, servers.Needs{})
		if err != nil {
			return err
		}
		t.OnClose(private.Close)
		t.DatabaseURL, redisURL = private.DatabaseURL, private.RedisURL
		t.PostmasterPID, t.RedisPID = private.PostmasterPID, private.RedisPID
		databaseName, redisName = "a private PostgreSQL", "a private Redis"
	case c.DatabaseURL == "":
		folder, err := t.Folder()
		if err != nil {
			return err
		}
		t.DatabaseURL, databaseName = "sqlite:"+filepath.Join(folder, "inventory.db"), "a temporary SQLite file"
	}
	t.Name = "the service inside, on " + databaseName + " and " + redisName
	if redisURL != app.Embedded {
		t.RedisURL = redisURL
	}
	s, err := c.Process.Start(ctx, Job{DatabaseURL: t.DatabaseURL, RedisURL: redisURL, AnswerWithin: AnswerWithin})
	if err != nil {
		return err
	}
	t.OnClose(s.End)
	t.URLs, t.AdminURLs = []string{s.URL}, []string{s.AdminURL}
	return nil
}

// Started reports whether the services were started here.
func (t *Target) Started() bool { return len(t.AdminURLs) > 0 }

// Environment is what figures depend on, as far as it is known: running services do not report their Redis.
func (t *Target) Environment(ctx context.Context) (report.Environment, error) {
	e := servers.Machine(ctx)
	e.Add("target", t.Name)
	if strings.HasPrefix(t.DatabaseURL, "sqlite:") {
		e.Add("SQLite", sqlite.SQLITE_VERSION)
	} else if err := servers.AskPostgreSQL(ctx, t.DatabaseURL, &e); err != nil {
		return e, err
	}
	switch {
	case t.RedisURL != "":
		return e, servers.AskRedis(ctx, t.RedisURL, &e)
	case t.Started():
		e.Add("Redis", "embedded")
	}
	return e, nil
}

// reachTimeout is how long a running service may take to answer at all.
const reachTimeout = 5 * time.Second

// Check finds flags that exclude each other.
func (c Config) Check() error {
	running := len(c.ServiceURLs) > 0
	switch {
	case c.Private && (running || c.DatabaseURL != "" || c.RedisURL != ""):
		return errors.New("--private-servers excludes --url, --database-url and --redis-url")
	case running && c.RedisURL != "":
		return errors.New("--url and --redis-url exclude each other: running services have a Redis of their own")
	case running && c.DatabaseURL == "":
		return errors.New("--url needs --database-url, whose rows are audited")
	}
	for i, serviceURL := range c.ServiceURLs {
		if _, err := Parse(serviceURL); err != nil {
			return fmt.Errorf("--url, number %d: %w", i+1, err)
		}
	}
	return nil
}

// Parse reads a service's URL. Its error does not quote it: it may hold a password.
func Parse(serviceURL string) (*url.URL, error) {
	parsed, err := url.Parse(serviceURL)
	if err != nil || parsed.Host == "" || (parsed.Scheme != "http" && parsed.Scheme != "https") {
		return nil, errors.New("must be http://HOST:PORT or https://…")
	}
	return parsed, nil
}

// useRunning makes sure that the services and their database answer.
func (t *Target) useRunning(ctx context.Context, urls []string, key string) error {
	for _, serviceURL := range urls {
		if err := reach(ctx, serviceURL, key); err != nil {
			return err
		}
	}
	store, err := app.OpenForReading(ctx, t.DatabaseURL)
	if err != nil {
		return fmt.Errorf("open the database for the audit: %w", err)
	}
	t.URLs, t.Name = urls, report.Count(len(urls), "running service")
	return store.Close()
}

// reach requests an unknown SKU of a service: every inventory service has its own answer to that.
func reach(ctx context.Context, serviceURL, key string) error {
	parsed, err := Parse(serviceURL)
	if err != nil {
		return err
	}
	name := parsed.Scheme + "://" + parsed.Host
	ctx, cancel := context.WithTimeout(ctx, reachTimeout)
	defer cancel()
	service, err := client.NewService(serviceURL, 1, time.Millisecond, client.WithKey(key))
	if err != nil {
		return fmt.Errorf("the service at %s: its URL cannot be used", name) // err would quote a password
	}
	defer service.Close()
	answer, err := service.ReadSKU(ctx, "loadtest-reach")
	if err != nil {
		return fmt.Errorf("reach the service at %s: %w", name, gauges.WithoutURL(err))
	}
	known := answer.Problem != nil && answer.Problem.Code == client.UnknownSku
	if !answer.OK() && !known {
		return fmt.Errorf("what answers at %s is no inventory service in order: %w", name, answer.Err())
	}
	return nil
}

// Process is a process of its own for the service.
type Process struct {
	Logs     io.Writer // where the service logs
	LogLevel slog.Level
}

// processLimit is how long a service lives at most.
const processLimit = 7 * 24 * time.Hour

// Job is what a process of its own serves.
type Job struct {
	DatabaseURL  string        `json:"database_url"`
	RedisURL     string        `json:"redis_url"`
	Lock         string        `json:"lock"`          // kind of lock of the segments; "" is the default
	AnswerWithin time.Duration `json:"answer_within"` // 0 is the default
	LogLevel     slog.Level    `json:"log_level"`
	KeysFile     string        `json:"keys_file"` // of the API keys that it asks for over HTTP; "": it asks for none
	TLSCert      string        `json:"tls_cert"`  // "": no TLS
	TLSKey       string        `json:"tls_key"`

	Tokens access.TokenConfig `json:"tokens"` // those that it accepts as well
}

// Service is a process that serves.
type Service struct {
	*worker.Process `json:"-"`

	URL      string `json:"url"`
	AdminURL string `json:"admin_url"`
}

// Worker is the kind of a process that serves.
const Worker = "service"

// Start starts the service in a process of its own, which the caller ends. It outlives ctx, so that requests under way are
// answered.
func (p Process) Start(ctx context.Context, j Job) (s *Service, err error) {
	s, j.LogLevel = &Service{}, p.LogLevel
	s.Process, err = worker.Start(context.WithoutCancel(ctx), worker.Job{Kind: Worker, Job: j, Limit: processLimit, Logs: p.Logs}, s)
	return s, err
}

// Serve is the work of that process: it serves until the lab needs it no more. Signals do not end it: the lab needs the answers to
// requests under way.
func Serve(ctx context.Context, lab *worker.Lab) (err error) {
	ctx = context.WithoutCancel(ctx)
	var j Job
	if err := lab.Read(&j); err != nil {
		return err
	}
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: j.LogLevel}))
	app.SpendMemory(log) // as `inventory serve` does
	service, err := app.Start(ctx, app.Config{
		DatabaseURL: j.DatabaseURL, RedisURL: j.RedisURL, Lock: j.Lock, AnswerWithin: j.AnswerWithin, DrainTimeout: drainTimeout, Logger: log,
		Access: access.Config{KeysFile: j.KeysFile, Tokens: j.Tokens}, TLSCert: j.TLSCert, TLSKey: j.TLSKey,
	})
	if err != nil {
		return err
	}
	return errors.Join(lab.Serve(Service{URL: service.URL(), AdminURL: service.AdminURL()}), service.Close(ctx))
}
