package migrations_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"

	"inventory/internal/busytest"
	"inventory/internal/servertest"
)

// server is the private PostgreSQL of this package's tests.
var server *servertest.Postgres

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) (code int) {
	var err error
	if server, err = servertest.StartPostgres(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	code = m.Run()
	if err := errors.Join(server.Stop(), busytest.Leaks()); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}

// database returns the URL of a new, empty PostgreSQL database.
func database(t *testing.T) string {
	t.Helper()
	url, drop, err := server.CreateDatabase(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := drop(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	return url
}
