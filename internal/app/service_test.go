package app_test

import (
	"cmp"
	"context"
	"errors"
	"net"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"inventory/internal/app"
	"inventory/internal/busytest"
	"inventory/internal/stock/stocktest"
)

// start starts a service on a SQLite file of its own, and closes it when the test ends.
func start(t *testing.T, c app.Config) *app.App {
	t.Helper()
	c.DatabaseURL = "sqlite:" + stocktest.SQLiteFile(t)
	return startOn(t, c)
}

// startOn is start on the database of the configuration.
func startOn(t *testing.T, c app.Config) *app.App {
	t.Helper()
	a, err := tryStart(t, c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closeNow(t, a) })
	return a
}

// tryStart starts a service that has the time it needs on a busy machine. If a server does not answer the start in time, it tries
// again.
func tryStart(t *testing.T, c app.Config) (a *app.App, err error) {
	t.Helper()
	c.AnswerWithin, c.DrainTimeout = cmp.Or(c.AnswerWithin, busytest.Patience), cmp.Or(c.DrainTimeout, busytest.Patience)
	err = inTime(t, func() (err error) {
		a, err = app.Start(t.Context(), c)
		return err
	})
	return a, err
}

// inTime does something, again if a server did not answer it in time, and returns its error.
func inTime(t *testing.T, do func() error) (err error) {
	t.Helper()
	defer func() {
		if err != nil {
			t.Logf("the last try: %v", err)
		}
	}()
	busytest.Soon(t, "the servers answer in time", func() bool {
		err = do()
		return err == nil || !isLate(err)
	})
	return err
}

// closeNow closes a service. It is no failure if something takes longer than the service waits for it: the machine may be busy, and
// TestMain finds what never ends.
func closeNow(t *testing.T, a *app.App) {
	t.Helper()
	if err := unlessLate(a.Close(context.WithoutCancel(t.Context()))); err != nil {
		t.Error(err)
	}
}

// unlessLate returns an error without those parts that say that something took too long.
func unlessLate(err error) error {
	if several, is := err.(interface{ Unwrap() []error }); is {
		var others []error
		for _, one := range several.Unwrap() {
			others = append(others, unlessLate(one))
		}
		return errors.Join(others...)
	}
	if err != nil && isLate(err) {
		return nil
	}
	return err
}

// Codes of PostgreSQL.
const (
	idleInTransaction = "25P03" // for too long
	queryCanceled     = "57014"
)

// isLate reports whether something took longer than the service, or PostgreSQL for it, waits.
func isLate(err error) bool {
	timed, is := errors.AsType[net.Error](err)
	if is && timed.Timeout() || errors.Is(err, context.DeadlineExceeded) || strings.Contains(err.Error(), "still in use") {
		return true
	}
	refused, is := errors.AsType[*pgconn.PgError](err)
	return is && (refused.Code == idleInTransaction || refused.Code == queryCanceled)
}
