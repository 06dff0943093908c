package migrations_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"

	"inventory/internal/busytest"
	"inventory/migrations"
)

// migrate brings the PostgreSQL database at a URL up to date, and returns its steps.
func migrate(ctx context.Context, url string) (steps []migrations.Step, err error) {
	m, err := migrations.OpenPostgres(url)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, m.Close()) }()
	if err := m.Up(ctx); err != nil {
		return nil, err
	}
	status, err := m.Status(ctx)
	return status.Steps, err
}

func connect(t *testing.T, url string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	return conn
}

// execute runs statements over one connection.
func execute(t *testing.T, url string, statements ...string) {
	t.Helper()
	conn := connect(t, url)
	defer conn.Close(t.Context())
	for _, statement := range statements {
		if _, err := conn.Exec(t.Context(), statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
}

// TestManyMigrateAtOnce starts five together on an empty database.
func TestManyMigrateAtOnce(t *testing.T) {
	busytest.Slow(t)
	t.Parallel()
	url, start := database(t), make(chan struct{})
	var all sync.WaitGroup
	for range 5 {
		all.Go(func() {
			<-start
			steps, err := migrate(t.Context(), url)
			if err != nil {
				t.Error(err)
			}
			for _, step := range steps {
				if !step.Applied {
					t.Errorf("step %d %s is missing", step.Version, step.Name)
				}
			}
		})
	}
	close(start)
	all.Wait()
}

// TestAnOlderProgramStartsOnANewerSchema: in a rolling upgrade a process of the older version may start again. It
// leaves the schema and its version alone, even if a newer process is within a step, or has died there.
func TestAnOlderProgramStartsOnANewerSchema(t *testing.T) {
	t.Parallel()
	for _, dirty := range []string{"false", "true"} {
		url := database(t)
		if _, err := migrate(t.Context(), url); err != nil {
			t.Fatal(err)
		}
		execute(t, url, "UPDATE schema_migrations SET version = 9999, dirty = "+dirty)
		if _, err := migrate(t.Context(), url); err != nil {
			t.Errorf("dirty %s: %v", dirty, err)
		}
		conn := connect(t, url)
		var left bool
		err := conn.QueryRow(t.Context(), "SELECT version = 9999 AND dirty = $1 FROM schema_migrations", dirty == "true").Scan(&left)
		if err != nil || !left {
			t.Errorf("dirty %s: the version is another one, %v", dirty, err)
		}
		m, err := migrations.OpenPostgres(url)
		if err != nil {
			t.Fatal(err)
		}
		if err := m.Down(t.Context()); err == nil || !strings.Contains(err.Error(), "9999") {
			t.Errorf("a step of a newer program was undone: %v", err)
		}
		if err := errors.Join(m.Close(), conn.Close(t.Context())); err != nil {
			t.Error(err)
		}
	}
}

// TestAMigrationThatWaitedSeesWhatWasDone: the one that it has waited for has made the table of migrations, and the version is not
// set back.
func TestAMigrationThatWaitedSeesWhatWasDone(t *testing.T) {
	t.Parallel()
	url := database(t)
	other := connect(t, url)
	defer other.Close(t.Context())
	do := func(statement string) {
		t.Helper()
		if _, err := other.Exec(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	do("BEGIN; SELECT pg_advisory_xact_lock(7325064181)")
	migrated, waits := make(chan error, 1), make(chan string, 1)
	m, err := migrations.OpenPostgres(url)
	if err != nil {
		t.Fatal(err)
	}
	m.Notice = func(n migrations.Notice) {
		select {
		case waits <- n.Waits:
		default:
		}
	}
	go func() { migrated <- errors.Join(m.Up(t.Context()), m.Close()) }()
	busytest.Receive(t, "the migration waits for the lock", waits)
	do("CREATE TABLE skus (sku_id text)")
	do("CREATE TABLE schema_migrations (version bigint NOT NULL PRIMARY KEY, dirty boolean NOT NULL)")
	do("INSERT INTO schema_migrations VALUES (9999, false)")
	do("COMMIT")
	if err := busytest.Receive(t, "the end of the migration", migrated); err != nil {
		t.Error(err)
	}
	var version int
	if err := other.QueryRow(t.Context(), "SELECT version FROM schema_migrations").Scan(&version); err != nil || version != 9999 {
		t.Errorf("the version is %d, %v, want %d", version, err, 9999)
	}
}
