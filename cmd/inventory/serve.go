package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"inventory/internal/app"
	"inventory/internal/cli"
)

// databaseFlag and redisFlag are shared by the commands that need them.
type databaseFlag struct {
	DatabaseURL string `group:"servers" help:"postgres://USER:PASSWORD@HOST:PORT/DATABASE, citus://… for the coordinator of a cluster, or sqlite:FILE. Default: sqlite:inventory.db in the working directory, a temporary one for demo." placeholder:"URL"`
}

// directFlag is for commands that migrate.
type directFlag struct {
	DirectURL string `group:"servers" help:"postgres://… of the same database past a pooler that shares connections: for migrations, and for notifications of restocks. Default: --database-url." placeholder:"URL"`
}

type serviceFlags struct {
	databaseFlag
	RedisURL string `group:"servers" help:"redis://USER:PASSWORD@HOST:PORT/DB, or embedded: inside the process, for this process only. redis+sentinel://HOST:PORT,HOST:PORT/MASTER for the master that Sentinels know; redis+cluster://HOST:PORT,HOST:PORT for a cluster. rediss… with TLS; ?tls_ca=FILE&tls_cert=FILE&tls_key=FILE for your own certificates. For --lock redlock an odd number of redis://, 3 or more, separated by commas." placeholder:"URL" default:"embedded"`
	Lock     string `group:"servers" help:"Lock of a segment: reentrant; fair, first come, first served over all processes; redlock, on most of several servers; or none, to sell under the database's guard only." enum:"reentrant,fair,redlock,none" default:"reentrant"`
}

type serveCommand struct {
	serviceFlags
	directFlag
	Listen         string         `group:"listeners" help:"Address of the public API, HOST:PORT." default:"127.0.0.1:8080"`
	AdminListen    string         `group:"listeners" help:"Address of metrics, health and profiles, HOST:PORT." default:"127.0.0.1:8081"`
	MetricsListen  string         `group:"listeners" help:"Address of metrics and health only, HOST:PORT, for Prometheus and probes on other machines. Default: only the admin listener has them." placeholder:"HOST:PORT"`
	MaxConnections int            `group:"limits" help:"Most connections to the public API. A further one replaces the one whose caller the service has waited for longest." placeholder:"N" default:"10000"`
	AnswerWithin   time.Duration  `group:"stopping" help:"Time from when a request was read until nothing is written for it, such as 2s. A caller without an answer by then may take its next answer as final." default:"2s"`
	ShutdownDelay  *time.Duration `group:"stopping" help:"Time for which a stopping service goes on serving while /readyz answers 503, so that balancers stop sending, such as 5s. Default: 5s, and 0s if --listen is loopback." placeholder:"DURATION"`
	DrainTimeout   time.Duration  `group:"stopping" help:"Time for requests in flight when the service stops, such as 10s." default:"10s"`
	accessFlags
	logFlags
}

// Help shows examples.
func (serveCommand) Help() string {
	return `Examples:

    inventory serve
    inventory serve --listen 0.0.0.0:8443 --api-keys api-keys --tls-cert cert.pem --tls-key key.pem
    INVENTORY_DATABASE_URL=postgres://… INVENTORY_REDIS_URL=redis://… inventory serve`
}

// Validate returns an error if a value is out of range.
func (c *serveCommand) Validate() error {
	if c.ShutdownDelay != nil && (*c.ShutdownDelay < 0 || *c.ShutdownDelay > mostStopping) {
		return fmt.Errorf("--shutdown-delay must be 0s to %s", mostStopping)
	}
	if c.DrainTimeout <= 0 || c.DrainTimeout > mostStopping {
		return fmt.Errorf("--drain-timeout must be more than 0s, and at most %s", mostStopping)
	}
	if c.AnswerWithin < leastAnswerWithin || c.AnswerWithin > mostAnswerWithin {
		return fmt.Errorf("--answer-within must be %s to %s", leastAnswerWithin, mostAnswerWithin)
	}
	if c.MaxConnections == 0 { // in a configuration, 0 is the default
		return errors.New("--max-connections must be 1 or more")
	}
	return c.accessFlags.check()
}

const (
	// leastAnswerWithin leaves an order enough time to wait in a queue, wait for a lock and be written.
	leastAnswerWithin = 200 * time.Millisecond
	// mostAnswerWithin leaves time for the answer, before the connection is closed.
	mostAnswerWithin = 15 * time.Second
	// mostStopping is longer than any supervisor waits before it kills a service.
	mostStopping = time.Hour
)

// Run serves until ctx ends.
func (c *serveCommand) Run(ctx context.Context, s cli.Streams) error {
	log := c.logger(s.Err)
	app.SpendMemory(log)
	config := app.Config{
		Listen: c.Listen, AdminListen: c.AdminListen, MetricsListen: c.MetricsListen, DatabaseURL: c.DatabaseURL, DirectURL: c.DirectURL, RedisURL: c.RedisURL,
		Lock: c.Lock, MaxConnections: c.MaxConnections, AnswerWithin: c.AnswerWithin, ShutdownDelay: c.ShutdownDelay,
		DrainTimeout: c.DrainTimeout, Logger: log,
	}
	if err := c.accessFlags.into(&config); err != nil {
		return err
	}
	hangups := catchHangups(config) // before the files are read, so that a change of them is never missed
	a, err := app.Start(ctx, config)
	if err != nil {
		return err
	}
	reloading := reloadOnHangup(ctx, a, hangups, log)
	failed := make(chan error, 1)
	go func() { failed <- a.Wait() }()
	select {
	case <-ctx.Done():
		log.Info("stopping")
		err = errors.Join(a.Close(context.WithoutCancel(ctx)), <-failed)
	case err = <-failed: // a listener broke
		err = errors.Join(err, a.Close(context.WithoutCancel(ctx)))
	}
	reloading()
	return err
}

// logFlags are the flags for a command's log.
type logFlags struct {
	LogFormat string     `group:"logs" help:"Form of the log's lines: text or json." enum:"text,json" default:"text"`
	LogLevel  slog.Level `group:"logs" help:"Least level that is logged: debug, info, warn or error." default:"info"`
}

func (f logFlags) logger(to io.Writer) *slog.Logger {
	options := &slog.HandlerOptions{Level: f.LogLevel}
	if f.LogFormat == "json" {
		return slog.New(slog.NewJSONHandler(to, options))
	}
	return slog.New(slog.NewTextHandler(to, options))
}
