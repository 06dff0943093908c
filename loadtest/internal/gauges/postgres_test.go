package gauges

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"inventory/internal/servertest"
)

// startPostgres starts a server that syncs, with a table and a session.
func startPostgres(t *testing.T) (*servertest.Postgres, *pgx.Conn) {
	t.Helper()
	server, err := servertest.StartPostgres(t.Context(), servertest.Durable())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Stop(); err != nil {
			t.Error(err)
		}
	})
	session, err := pgx.Connect(t.Context(), server.URL())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = session.Close(context.Background()) })
	if _, err := session.Exec(t.Context(), `CREATE TABLE things (id int PRIMARY KEY, what text)`); err != nil {
		t.Fatal(err)
	}
	return server, session
}

func insert(t *testing.T, session *pgx.Conn, n int) {
	t.Helper()
	for i := range n {
		if _, err := session.Exec(t.Context(), `INSERT INTO things VALUES ($1, repeat('x', 100))`, i); err != nil {
			t.Fatal(err)
		}
	}
}

// TestSerialCommitsAreSyncedOneByOne ends its session, which then has published its counts.
func TestSerialCommitsAreSyncedOneByOne(t *testing.T) {
	t.Parallel()
	server, session := startPostgres(t)
	sampler := Start(t.Context(), Sources{DatabaseURL: server.URL(), PostmasterPID: server.PID()}, 5*time.Millisecond)
	const n = 400
	insert(t, session, n)
	if err := session.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	got := sampler.Stop()
	if len(got.Notes) > 0 || len(got.All) < 3 {
		t.Fatalf("%d readings, notes %q", len(got.All), got.Notes)
	}
	// The same session made the table, a few transactions before, and no other session runs but autovacuum.
	const beside = 25
	for name, counted := range map[string]float64{"syncs": got.Grown(walSyncs), "writes": got.Grown(Writes), "commits": got.Grown(commits)} {
		if counted < n || counted > n+beside {
			t.Errorf("%v %s of %d commits, over %d readings", counted, name, n, len(got.All))
		}
	}
	if bytes := got.Grown(walBytes); bytes < n*100 {
		t.Errorf("%v bytes of the log", bytes)
	}
	if cpu := got.CPU(PostgreSQL); !(cpu > 0) || cpu > 4*got.Took().Seconds() {
		t.Errorf("%v s of processor time in %v", cpu, got.Took())
	}
	wantGrowth(t, got)
}

// wantGrowth demands that the table and its index grew.
func wantGrowth(t *testing.T, got Readings) {
	t.Helper()
	if tables, indexes := got.Growth(); tables <= 0 || indexes <= 0 {
		t.Errorf("tables grew by %v bytes, indexes by %v", tables, indexes)
	}
}

func TestWithoutFsyncThereAreNoSyncs(t *testing.T) {
	t.Parallel()
	server, err := servertest.StartPostgres(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Stop(); err != nil {
			t.Error(err)
		}
	})
	got := Start(t.Context(), Sources{DatabaseURL: server.URL()}, time.Hour).Stop()
	if syncs := got.Grown(walSyncs); syncs == syncs { // a number
		t.Errorf("%v syncs", syncs)
	}
	wantWords(t, got, "PostgreSQL runs with fsync off", "its processor time is not known")
}
