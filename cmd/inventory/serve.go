package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"inventory/internal/app"
	"inventory/internal/cli"
)

// databaseFlag and redisFlag are shared by the commands that need them.
type databaseFlag struct {
	DatabaseURL string `group:"servers" help:"postgres://USER:PASSWORD@HOST:PORT/DATABASE, citus://… for the coordinator of a cluster, or sqlite:FILE. Default: sqlite:inventory.db in the working directory, a temporary one for demo." placeholder:"URL"`
}

type serviceFlags struct {
	databaseFlag
	RedisURL string `group:"servers" help:"redis://USER:PASSWORD@HOST:PORT/DB, or embedded: inside the process, for this process alone. redis+sentinel://HOST:PORT,HOST:PORT/MASTER for the master that Sentinels know; redis+cluster://HOST:PORT,HOST:PORT for a cluster. rediss… with TLS. For --lock redlock an odd number of redis://, 3 or more, with commas in between." placeholder:"URL" default:"embedded"`
	Lock     string `group:"servers" help:"Lock of a segment: reentrant; fair, first come, first served over all processes; redlock, on most of several servers; or none, to sell under the database's guard alone." enum:"reentrant,fair,redlock,none" default:"reentrant"`
}

type serveCommand struct {
	serviceFlags
	ReadURL        string         `group:"servers" help:"postgres://USER:PASSWORD@HOST:PORT/DATABASE of a standby that reads what need not be fresh: lists of SKUs and of deductions, and the ledger. While it does not answer, or does not follow, the primary reads that too. Default: the primary reads all." placeholder:"URL"`
	Listen         string         `group:"listeners" help:"Address of the public API, HOST:PORT." default:"127.0.0.1:8080"`
	AdminListen    string         `group:"listeners" help:"Address of metrics, health and profiles, HOST:PORT." default:"127.0.0.1:8081"`
	MetricsListen  string         `group:"listeners" help:"Address of metrics and health alone, HOST:PORT, for Prometheus and probes on other machines. Default: the admin listener alone has them." placeholder:"HOST:PORT"`
	MaxConnections int            `group:"limits" help:"Connections to the public API at most. A new one takes the place of the one that has been without a request for longest." placeholder:"N" default:"10000"`
	AnswerWithin   time.Duration  `group:"stopping" help:"Time after which nothing is written for a request any more, from when it was read, such as 2s. Whoever got no answer by then may take the next one as final." default:"2s"`
	ShutdownDelay  *time.Duration `group:"stopping" help:"Time for which a service that stops goes on serving while /readyz answers 503, so that balancers stop sending, such as 5s. Default: 5s, and 0s if --listen is loopback." placeholder:"DURATION"`
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

// Validate tells kong which value is out of range.
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
	if c.MaxConnections < 1 {
		return errors.New("--max-connections must be 1 or more")
	}
	return c.accessFlags.check()
}

const (
	// leastAnswerWithin leaves an order enough time to wait in a queue, wait for a lock and be written.
	leastAnswerWithin = 200 * time.Millisecond
	// mostAnswerWithin leaves time for the answer, before the connection is given up.
	mostAnswerWithin = 15 * time.Second
	// mostStopping is longer than whoever stops a service waits before it is killed.
	mostStopping = time.Hour
)

// Run serves until ctx ends.
func (c *serveCommand) Run(ctx context.Context, s cli.Streams) error {
	log := c.logger(s.Err)
	app.SpendMemory(log)
	config := app.Config{
		Listen: c.Listen, AdminListen: c.AdminListen, MetricsListen: c.MetricsListen, DatabaseURL: c.DatabaseURL, ReadURL: c.ReadURL, RedisURL: c.RedisURL,
		Lock: c.Lock, MaxConnections: c.MaxConnections, AnswerWithin: c.AnswerWithin, ShutdownDelay: c.ShutdownDelay,
		DrainTimeout: c.DrainTimeout, Logger: log,
	}
	if err := c.accessFlags.into(&config); err != nil {
		return err
	}
	a, err := app.Start(ctx, config)
	if err != nil {
		return err
	}
	reloading := reloadOnHangup(ctx, a, config, log)
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
