package main

import (
	"net/url"
	"strings"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5"

	"inventory/internal/busytest"
)

// sold returns the URL of a database in which one SKU is sold, once its service has stopped.
func sold(t *testing.T, url string) string {
	t.Helper()
	if r := invoke(t, "demo", "--database-url", url, "--stock", "30", "--segments", "3", "--buyers", "20"); r.code != 0 {
		t.Fatal(r.err)
	}
	return url
}

// left waits until PostgreSQL has ended the sessions in databases. A copy waits for that too, but not for long.
func left(t *testing.T, urls ...string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), postgresServer.URL())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	for _, at := range urls {
		parsed, err := url.Parse(at)
		if err != nil {
			t.Fatal(err)
		}
		busytest.Soon(t, "nobody is connected to "+at, func() (free bool) {
			const sessions = `SELECT NOT EXISTS (SELECT FROM pg_stat_activity WHERE datname = $1 AND backend_type = 'client backend')`
			if err := conn.QueryRow(t.Context(), sessions, strings.TrimPrefix(parsed.Path, "/")).Scan(&free); err != nil {
				t.Fatal(err)
			}
			return free
		})
	}
}

func TestCopy(t *testing.T) {
	busytest.Slow(t)
	t.Parallel()
	for name, urls := range map[string][2]string{
		"to postgres": {sqliteFile(t), database(t)},
		"to sqlite":   {database(t), sqliteFile(t)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			from, to := sold(t, urls[0]), urls[1]
			copies := func(args ...string) result {
				t.Helper()
				left(t, from, to)
				return invoke(t, append([]string{"migrate", "copy", "--from", from, "--to", to}, args...)...)
			}
			for _, step := range []struct {
				args []string
				says string
			}{
				{[]string{"--dry-run"}, "\nto copy: 24 rows from "},
				{nil, "\ncopied: 24 rows from "},
			} {
				r := copies(step.args...)
				if r.code != 0 || !strings.Contains(r.out, "deductions              20 rows\n") || !strings.Contains(r.out, step.says) || strings.Contains(r.out, "@") {
					t.Errorf("%v: exit status %d, %s%s", step.args, r.code, r.out, r.err)
				}
				same := strings.HasSuffix(r.out, "\nthe audits of both databases are the same: 1 SKU, every unit adds up\n")
				if same != (step.args == nil) || strings.Contains(r.err, "rows copied: 24 of 24") != same {
					t.Errorf("%v: %s%s", step.args, r.out, r.err)
				}
			}
			oneLine(t, copies(), "is not empty")
			audited(t, to)
			sold(t, to)
		})
	}
}

func TestCopyThatCannotBe(t *testing.T) {
	busytest.Slow(t)
	t.Parallel()
	file, server := sold(t, sqliteFile(t)), database(t)
	cannotBe(t, []string{"migrate", "copy"}, []failure{
		{[]string{"--to", server}, "--from", statusUsage},
		{[]string{"--from", file}, "--to", statusUsage},
		{[]string{"--from", file, "--to", sqliteFile(t)}, "one of --from and --to must be sqlite:FILE", statusUsage},
		{[]string{"--from", server, "--to", server}, "restore a backup", statusUsage},
		{[]string{"--from", file, "--to", "mysql://x"}, "--to", statusUsage},
		{[]string{"--from", file + "-none", "--to", server}, "no SQLite file", statusFailed},
		{[]string{"--from", file, "--to", "postgres://u:" + canary + "@127.0.0.1:1/x"}, "reach PostgreSQL", statusFailed},
		{[]string{"--from", server, "--to", sqliteFile(t)}, "run inventory migrate up", statusFailed},
		{[]string{"--from", file, "--to", "citus" + strings.TrimPrefix(server, "postgres")}, "not distributed", statusFailed},
	})

	// A service holds the file, and has a session on the server.
	copies := func(from, to, says string) {
		t.Helper()
		oneLine(t, invoke(t, "migrate", "copy", "--from", from, "--to", to), says)
	}
	held, other := sqliteFile(t), database(t)
	p := serve(t, "--database-url", held, "--lock", "none")
	copies(held, other, "in use by another process")
	p.end(syscall.SIGTERM)
	p = serve(t, "--database-url", other, "--lock", "none")
	copies(file, other, "other sessions are connected to PostgreSQL")
	copies(other, sqliteFile(t), "inventory notices")
	p.end(syscall.SIGTERM)

	// A database without SKUs may still have rows, and one with another schema is left alone.
	refuses := func(says string) {
		t.Helper()
		left(t, server)
		copies(file, server, says)
	}
	execute(t, server, `INSERT INTO orders (order_id, created_at) VALUES ('o', now())`)
	refuses("is not empty: its table orders has 1 rows")
	execute(t, server, `DELETE FROM orders`)
	for _, step := range [][2]string{{"on", "the outbox is on"}, {"off", ""}} {
		if r := invoke(t, "outbox", step[0], "--database-url", server); r.code != 0 {
			t.Fatal(r.err)
		}
		if step[1] != "" {
			refuses(step[1])
		}
	}
	execute(t, server, `ALTER TABLE buyers ADD COLUMN colour text`)
	refuses(`copy buyers: it has the columns`)
	execute(t, server, `UPDATE schema_migrations SET version = 9999`)
	refuses("newer program")
}

// TestCopyTellsWhatTheAuditsSay: a target that does not add up as its source does, and a source that does not add up itself.
func TestCopyTellsWhatTheAuditsSay(t *testing.T) {
	busytest.Slow(t)
	t.Parallel()
	file, one, other := sold(t, sqliteFile(t)), database(t), database(t)
	if r := invoke(t, "migrate", "up", "--database-url", one); r.code != 0 {
		t.Fatal(r.err)
	}
	execute(t, one, `CREATE FUNCTION more() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN NEW.available = NEW.available + 1; RETURN NEW; END'`)
	execute(t, one, `CREATE TRIGGER more BEFORE INSERT ON stock_segments FOR EACH ROW EXECUTE FUNCTION more()`)
	left(t, one)
	endedWith(t, statusFound, invoke(t, "migrate", "copy", "--from", file, "--to", one), "the audits of the two databases differ", "do not sell from PostgreSQL")
	change(t, file, `UPDATE stock_segments SET available = available + 1`)
	endedWith(t, statusFound, invoke(t, "migrate", "copy", "--from", file, "--to", other), "the audits of both databases are the same, and the audit found differences")
}
