package app_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"

	"github.com/redis/go-redis/v9/logging"
	"golang.org/x/sync/errgroup"

	"inventory/internal/busytest"
	"inventory/internal/servertest"
)

// The private servers of this package's tests.
var (
	postgresServer *servertest.Postgres
	redisServers   [3]*servertest.Redis
)

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	if os.Getenv(memoryCase) != "" || os.Getenv(copyCase) != "" {
		return m.Run() // these tests need no servers
	}
	logging.Disable() // the errors of go-redis say what it logs
	err := startServers(context.Background())
	code := 1
	if err == nil {
		code = m.Run()
	}
	if err = errors.Join(err, stopServers(), busytest.Leaks()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}

func startServers(ctx context.Context) error {
	var starting errgroup.Group
	starting.Go(func() (err error) {
		postgresServer, err = servertest.StartPostgres(ctx)
		return err
	})
	for i := range redisServers {
		starting.Go(func() (err error) {
			redisServers[i], err = servertest.StartRedis(ctx)
			return err
		})
	}
	return starting.Wait()
}

func stopServers() error {
	var errs []error
	if postgresServer != nil {
		errs = append(errs, postgresServer.Stop())
	}
	for _, server := range redisServers {
		if server != nil {
			errs = append(errs, server.Stop())
		}
	}
	return errors.Join(errs...)
}
