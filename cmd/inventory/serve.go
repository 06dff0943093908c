package main

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"inventory/internal/app"
	"inventory/internal/cli"
)

// databaseFlag and redisFlag are shared by the commands that need them.
type databaseFlag struct {
	DatabaseURL string `help:"postgres://USER:PASSWORD@HOST:PORT/DATABASE, or sqlite:FILE. Default: sqlite:inventory.db in the working directory, a temporary one for demo." placeholder:"URL"`
}

type serviceFlags struct {
	databaseFlag
	RedisURL string `help:"redis://USER:PASSWORD@HOST:PORT/DB, rediss://… with TLS, or embedded: inside the process, for this process alone. For --lock redlock an odd number of servers, 3 or more, with commas in between." placeholder:"URL" default:"embedded"`
	Lock     string `help:"Lock of a segment: reentrant; fair, first come, first served over all processes; redlock, on most of several servers; or none, to sell under the database's guard alone." enum:"reentrant,fair,redlock,none" default:"reentrant"`
}

type serveCommand struct {
	serviceFlags
	Listen         string        `help:"Address of the public API, HOST:PORT." default:"127.0.0.1:8080"`
	AdminListen    string        `help:"Address of metrics, health and profiles, HOST:PORT." default:"127.0.0.1:8081"`
	AllowAnonymous bool          `help:"Listen on other addresses than loopback although nobody has to show a key."`
	DrainTimeout   time.Duration `help:"Time for requests in flight when the service stops, such as 10s." default:"10s"`
	LogLevel       slog.Level    `help:"Least level that is logged: debug, info, warn or error." default:"info"`
}

// Validate tells kong which value is out of range.
func (c *serveCommand) Validate() error {
	if c.DrainTimeout <= 0 {
		return errors.New("--drain-timeout must be more than 0s")
	}
	return nil
}

// Run serves until ctx ends.
func (c *serveCommand) Run(ctx context.Context, s cli.Streams) error {
	app.SpendMemory()
	log := slog.New(slog.NewTextHandler(s.Err, &slog.HandlerOptions{Level: c.LogLevel}))
	a, err := app.Start(ctx, app.Config{
		Listen: c.Listen, AdminListen: c.AdminListen, DatabaseURL: c.DatabaseURL, RedisURL: c.RedisURL,
		Lock: c.Lock, AllowAnonymous: c.AllowAnonymous, DrainTimeout: c.DrainTimeout, Logger: log,
	})
	if err != nil {
		return err
	}
	failed := make(chan error, 1)
	go func() { failed <- a.Wait() }()
	select {
	case <-ctx.Done():
		log.Info("stopping")
		err = a.Close(context.WithoutCancel(ctx))
		return errors.Join(err, <-failed)
	case err := <-failed: // a listener broke
		return errors.Join(err, a.Close(context.WithoutCancel(ctx)))
	}
}
