package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"time"

	"inventory/internal/access"
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
	app.Config
	logFlags
}

// Help shows examples.
func (serveCommand) Help() string {
	return `Examples:

    inventory serve
    inventory serve --listen 0.0.0.0:8443 --api-keys api-keys --tls-cert cert.pem --tls-key key.pem
    INVENTORY_DATABASE_URL=postgres://… INVENTORY_REDIS_URL=redis://… inventory serve`
}

// Validate returns an error if a value is out of range, or if a flag lacks another one that it needs.
func (c *serveCommand) Validate() error {
	tokens, rights := c.Access.Tokens, c.Access.TokenRights
	switch {
	case c.ShutdownDelay != nil && (*c.ShutdownDelay < 0 || *c.ShutdownDelay > mostStopping):
		return fmt.Errorf("--shutdown-delay must be 0s to %s", mostStopping)
	case c.DrainTimeout <= 0 || c.DrainTimeout > mostStopping:
		return fmt.Errorf("--drain-timeout must be more than 0s, and at most %s", mostStopping)
	case c.AnswerWithin < leastAnswerWithin || c.AnswerWithin > mostAnswerWithin:
		return fmt.Errorf("--answer-within must be %s to %s", leastAnswerWithin, mostAnswerWithin)
	case c.MaxConnections == 0: // in a configuration, 0 is the default
		return errors.New("--max-connections must be 1 or more")
	case rights.MaxQuantity == 0 || c.MaxReserveFor == 0:
		return errors.New("--tokens-max-quantity and --max-reserve-for must be more than 0")
	case access.IsKey(c.Access.KeysFile):
		return errors.New("--api-keys is a file of the lines that let keys in, and this is a key itself")
	case tokens != (access.TokenConfig{}) && (tokens.Algorithm == "" || tokens.KeyFile == "" || tokens.Audience == ""):
		return errors.New("tokens need all of --jwt-algorithm, --jwt-key and --jwt-audience")
	case rights.May != (access.May{}) && tokens == (access.TokenConfig{}):
		return errors.New("--tokens-may needs tokens: --jwt-algorithm, --jwt-key and --jwt-audience")
	default:
		return nil
	}
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
	config := c.Config
	config.DatabaseURL, config.DirectURL = c.serviceFlags.DatabaseURL, c.directFlag.DirectURL
	config.RedisURL, config.Lock, config.Logger = c.serviceFlags.RedisURL, c.serviceFlags.Lock, log
	hangups := make(chan os.Signal, 1)
	if config.Reloads() { // otherwise SIGHUP ends the process, as it does by default
		signal.Notify(hangups, syscall.SIGHUP) // before the files are read, so that a change of them is never missed
		defer signal.Stop(hangups)
	}
	a, err := app.Start(ctx, config)
	switch {
	case err != nil && ctx.Err() != nil && statusOf(err) == statusFailed:
		log.Info("stopping before it has started", "because", err)
		return nil
	case err != nil:
		return err
	}
	failed := make(chan error, 1)
	go func() { failed <- a.Wait() }()
	for {
		select {
		case <-hangups:
			reload(ctx, a, log)
		case <-ctx.Done():
			log.Info("stopping")
			begun := time.Now()
			err := errors.Join(a.Close(context.WithoutCancel(ctx)), <-failed)
			log.Info("stopped", "after", time.Since(begun).Round(time.Millisecond), "requests_cut_off", a.CutOff())
			return err
		case err := <-failed: // a listener broke
			return errors.Join(err, a.Close(context.WithoutCancel(ctx)))
		}
	}
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
