package gauges

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"inventory/internal/app"
	"inventory/internal/busytest"
	"inventory/internal/servertest"
	"inventory/internal/stock"
	"inventory/loadtest/internal/report"
)

func TestMain(m *testing.M) { busytest.Main(m) }

// text returns the sections as a person reads them.
func text(t *testing.T, r Readings, accepted int64) string {
	t.Helper()
	var out strings.Builder
	if err := (report.Document{Sections: r.Sections(accepted)}).Print(&out); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func wantWords(t *testing.T, r Readings, words ...string) {
	t.Helper()
	told := text(t, r, 0)
	for _, w := range words {
		if !strings.Contains(told, w) {
			t.Errorf("it does not say %q:\n%s", w, told)
		}
	}
}

func wantBetween(t *testing.T, what string, got, least, most float64) {
	t.Helper()
	if !(got >= least && got <= most) {
		t.Errorf("%s: got %v, want %v to %v", what, got, least, most)
	}
}

func startPostgres(t *testing.T, options ...servertest.PostgresOption) *servertest.Postgres {
	t.Helper()
	server, err := servertest.StartPostgres(t.Context(), options...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Stop(); err != nil {
			t.Error(err)
		}
	})
	return server
}

// end ends a session, and returns when its process has gone.
func end(t *testing.T, databaseURL string, session *pgx.Conn) {
	t.Helper()
	other, err := pgx.Connect(t.Context(), databaseURL)
	if err != nil {
		t.Fatal(err)
	}
	process := session.PgConn().PID()
	if err := session.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	busytest.Soon(t, "the session ends", func() (gone bool) {
		const asks = `SELECT NOT EXISTS (SELECT FROM pg_stat_activity WHERE pid = $1)`
		if err := other.QueryRow(t.Context(), asks, process).Scan(&gone); err != nil {
			t.Fatal(err)
		}
		return gone
	})
	if err := other.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// TestSerialCommitsAreSyncedOneByOne ends the session that writes, which then has published its counts.
func TestSerialCommitsAreSyncedOneByOne(t *testing.T) {
	t.Parallel()
	server := startPostgres(t, servertest.Durable(), servertest.Setting("autovacuum", "off"), // it would write, too
		servertest.Setting("wal_writer_delay", "10s")) // it would sync for the session
	session, err := pgx.Connect(t.Context(), server.URL())
	if err == nil {
		_, err = session.Exec(t.Context(), `CREATE TABLE things (id int PRIMARY KEY, what text)`)
	}
	if err != nil {
		t.Fatal(err)
	}
	stop := Start(t.Context(), Sources{DatabaseURL: server.URL(), PostmasterPID: server.PID()}, 20*time.Millisecond)
	const n = 400
	for i := range n {
		if _, err := session.Exec(t.Context(), `INSERT INTO things VALUES ($1, repeat('x', 100))`, i); err != nil {
			t.Fatal(err)
		}
	}
	end(t, server.URL(), session)
	got := stop()
	if len(got.Notes) > 0 || len(got.all) < 2 {
		t.Fatalf("%d readings, notes %q", len(got.all), got.Notes)
	}
	// The same session made the table, a few transactions before, and no other session writes.
	const beside = 25
	wantBetween(t, "syncs", got.Grown(walSyncs), n, n+beside)
	wantBetween(t, "writes", got.Grown(writes), n, n+beside)
	wantBetween(t, "bytes of the log", got.Grown(WALBytes), n*100, math.Inf(1))
	for _, p := range []Process{PostgreSQL, Generator, Machine} {
		wantBetween(t, fmt.Sprint("seconds of ", p), got.CPU(p), 0.005, 64*got.Took().Seconds())
	}
	if tables, indexes := got.Grown(TableBytes), got.Grown(IndexBytes); tables <= 0 || indexes <= 0 {
		t.Errorf("tables grew by %v bytes, indexes by %v", tables, indexes)
	}
	wantWords(t, got, "What PostgreSQL did", "bytes that indexes grew", "up to ten seconds late")
}

func TestWithoutFsyncThereAreNoSyncs(t *testing.T) {
	t.Parallel()
	got := Start(t.Context(), Sources{DatabaseURL: startPostgres(t).URL()}, time.Hour)()
	if syncs := got.Grown(walSyncs); !math.IsNaN(syncs) {
		t.Errorf("got %v syncs, want none known", syncs)
	}
	wantWords(t, got, "PostgreSQL runs with fsync off", "processor time is not known")
}

// TestTheServiceTellsWhatItDid reads a service that sells, and demands each metric.
func TestTheServiceTellsWhatItDid(t *testing.T) {
	t.Parallel()
	service, err := app.Start(t.Context(), app.Config{
		DatabaseURL: "sqlite:" + filepath.Join(t.TempDir(), "inventory.db"), AnswerWithin: busytest.Patience,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := service.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	if _, _, err := service.Service().CreateSKU(t.Context(), stock.NewSKU{SKU: "hot", Stock: 1000, Segments: 2}); err != nil {
		t.Fatal(err)
	}
	stop := Start(t.Context(), Sources{AdminURLs: []string{service.AdminURL()}}, 5*time.Millisecond)
	const n = 200
	for i := range n + 1 {
		o := stock.Order{OrderID: fmt.Sprint("o", i), Quantity: 1}
		if i == n {
			o.Quantity = 600 // more than a segment has
		}
		if _, _, err := service.Service().Deduct(t.Context(), "hot", o); err != nil {
			t.Fatal(err)
		}
	}
	got := stop()
	if len(got.Notes) > 0 {
		t.Errorf("notes %q", got.Notes)
	}
	wantBetween(t, "orders of batches", got.Grown(sum(batches)), n, n+1)
	wantBetween(t, "merges", got.Grown(merges), 1, 10)
	wantBetween(t, "goroutines", got.most(Goroutines), 2, 1e5)
	wantWords(t, got, "Inside the service", "Redis was not started by this run")
	for _, q := range []Quantity{cpuSeconds, batches, lockWaits, merges, merged, poolWaits, poolSeconds, queued, locksFail, Goroutines, Memory} {
		if math.IsNaN(got.most(q)) {
			t.Errorf("the service has no metric %s", q)
		}
	}
}

// TestASourceThatFailsLaterIsSaidOnce fails while it is read again and again, and comes back.
func TestASourceThatFailsLaterIsSaidOnce(t *testing.T) {
	t.Parallel()
	var asked atomic.Int64
	enough := make(chan struct{})
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		switch n := asked.Add(1); {
		case n == 8:
			close(enough)
		case n >= 3 && n < 7:
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		_, _ = fmt.Fprintf(w, "# TYPE inventory_merged_orders_total counter\ninventory_merged_orders_total %d\n", asked.Load())
	}))
	defer service.Close()
	stop := Start(t.Context(), Sources{AdminURLs: []string{service.URL}}, time.Millisecond)
	busytest.Receive(t, "the eighth reading of the service", enough)
	got := stop()
	if len(got.Notes) != 1 || !strings.Contains(got.Notes[0], "status 500") {
		t.Errorf("notes %q, want one with status 500", got.Notes)
	}
	if merged := got.Grown(merged); merged != float64(asked.Load()-1) {
		t.Errorf("%v merged, %d times asked", merged, asked.Load())
	}
}

// TestDeadSourcesAreNotFatal, and their errors have no secrets.
func TestDeadSourcesAreNotFatal(t *testing.T) {
	t.Parallel()
	const nobody = "me:secret@127.0.0.1:1"
	const beyond = 1<<22 + 1 // the largest process id
	for name, c := range map[string]struct {
		sources Sources
		says    string
	}{
		"metrics":     {Sources{AdminURLs: []string{"http://" + nobody}}, "ask for metrics"},
		"metrics URL": {Sources{AdminURLs: []string{"http://me:secret@%zz"}}, "cannot be used"},
		"PostgreSQL":  {Sources{DatabaseURL: "postgres://" + nobody + "/db"}, "reach PostgreSQL"},
		"URL":         {Sources{DatabaseURL: "postgres://me:secret@%zz"}, "database URL"},
		"process":     {Sources{PostmasterPID: beyond}, "look at process"},
	} {
		got := Start(t.Context(), c.sources, time.Hour)()
		if len(got.Notes) != 1 || !strings.Contains(got.Notes[0], c.says) || strings.Contains(got.Notes[0], "secret") {
			t.Errorf("%s: notes %q, want one with %q", name, got.Notes, c.says)
		}
		if told := text(t, got, 10); strings.Contains(told, "secret") || strings.Contains(told, "NaN") {
			t.Errorf("%s: %s", name, told)
		}
	}
}

// TestTheEndOfTheRunIsNotTheLastReading: an interrupted run has one too.
func TestTheEndOfTheRunIsNotTheLastReading(t *testing.T) {
	t.Parallel()
	ctx, interrupt := context.WithCancelCause(t.Context())
	stop := Start(ctx, Sources{}, time.Hour)
	interrupt(errors.New("enough"))
	if got := stop(); len(got.all) != 2 || len(got.Notes) > 0 || math.IsNaN(got.CPU(Generator)) {
		t.Errorf("got %+v", got)
	}
}
