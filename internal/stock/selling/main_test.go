package selling_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"

	"github.com/redis/go-redis/v9/logging"

	"inventory/internal/busytest"
	"inventory/internal/servertest"
)

// The private servers of this package's tests.
var (
	postgresServer   *servertest.Postgres
	postgresTemplate string // a database with the schema, for copies
	redisServer      *servertest.Redis
)

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	logging.Disable() // the errors of go-redis say what it logs
	ctx := context.Background()
	var err error
	if postgresServer, err = servertest.StartPostgres(ctx); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	if postgresTemplate, err = migrated(ctx, postgresServer); err != nil {
		fmt.Fprintln(os.Stderr, errors.Join(err, postgresServer.Stop()))
		return 1
	}
	if redisServer, err = servertest.StartRedis(ctx); err != nil {
		fmt.Fprintln(os.Stderr, errors.Join(err, postgresServer.Stop()))
		return 1
	}
	code := m.Run()
	if err := errors.Join(redisServer.Stop(), postgresServer.Stop(), busytest.Leaks()); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}
