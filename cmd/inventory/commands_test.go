package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"inventory/internal/api"
	"inventory/internal/busytest"
)

func TestHelpExplainsEveryFlag(t *testing.T) {
	t.Parallel()
	for _, command := range []string{"serve", "demo", "migrate", "audit", "prune", "import", "outbox"} {
		r := invoke(t, command, "--help")
		if r.code != 0 || !strings.Contains(r.out, "Usage: inventory "+command) {
			t.Errorf("%s: exit status %d, %s", command, r.code, r.out)
		}
	}
	r := invoke(t, "serve", "--help")
	for _, text := range []string{"--listen", "$INVENTORY_LISTEN", "$INVENTORY_DATABASE_URL", "$INVENTORY_REDIS_URL", "$INVENTORY_ALLOW_ANONYMOUS", "reentrant"} {
		if !strings.Contains(r.out, text) {
			t.Errorf("serve --help does not say %s", text)
		}
	}
}

func TestImpossibleCallIsReportedInOneLine(t *testing.T) {
	t.Parallel()
	file := sqliteFile(t)
	cannotBe(t, nil, []failure{
		{[]string{"serve", "--foo"}, "--foo", statusUsage},
		{[]string{"serve", "--lock", "magic"}, "--lock", statusUsage},
		{[]string{"serve", "--drain-timeout", "soon"}, "--drain-timeout", statusUsage},
		{[]string{"serve", "--drain-timeout", "0s"}, "--drain-timeout", statusUsage},
		{[]string{"serve", "--drain-timeout", "2h"}, "--drain-timeout", statusUsage},
		{[]string{"serve", "--shutdown-delay", "-1s"}, "--shutdown-delay", statusUsage},
		{[]string{"serve", "--shutdown-delay", "2h"}, "--shutdown-delay", statusUsage},
		{[]string{"serve", "--answer-within", "1ms"}, "--answer-within", statusUsage},
		{[]string{"serve", "--answer-within", "1h"}, "--answer-within", statusUsage},
		{[]string{"serve", "--max-connections", "0"}, "--max-connections", statusUsage},
		{[]string{"serve", "--database-url", "sqlite::memory:"}, "database URL", statusUsage},
		{[]string{"serve", "--database-url", "sqlite:inventory.db?mode=ro"}, "no parameters", statusUsage},
		{[]string{"demo", "--url", "localhost:8080", "--database-url", file}, "service URL", statusUsage},
		{[]string{"demo", "--quantity", "5-1"}, "--quantity", statusUsage},
		{[]string{"demo", "--segments", "0"}, "--segments must be 1 to", statusUsage},
		{[]string{"demo", "--stock=-1"}, "--stock must be 0 to", statusUsage},
		{[]string{"demo", "--url", "http://127.0.0.1:1"}, "--database-url", statusUsage},
		{[]string{"demo", "--watch", "--url", "http://127.0.0.1:1", "--database-url", file}, "--url", statusUsage},
		{[]string{"demo", "--watch", "--redis-url", "redis://127.0.0.1:1"}, "--redis-url", statusUsage},
		{[]string{"demo", "--watch", "--watch-listen", "0.0.0.0:0"}, "loopback", statusUsage},
		{[]string{"demo", "--open"}, "--watch", statusUsage},
		{[]string{"serve", "--database-url", file, "--listen", "0.0.0.0:0"}, "--allow-anonymous", statusUsage},
		{[]string{"serve", "--database-url", file, "--admin-listen", ":0"}, "--admin-allow-anonymous", statusUsage},
		{[]string{"serve", "--database-url", file, "--listen", "nowhere"}, "HOST:PORT", statusUsage},
		{[]string{"serve", "--database-url", file, "--listen", "127.0.0.1:65536"}, "HOST:PORT", statusUsage},
		{[]string{"serve", "--database-url", file, "--admin-listen", "127.0.0.1:-1"}, "HOST:PORT", statusUsage},
		{[]string{"serve", "--database-url", file, "--metrics-listen", "nowhere"}, "HOST:PORT", statusUsage},
		{[]string{"serve", "--database-url", "postgres://u:" + canary + "@127.0.0.1:1/x"}, "reach PostgreSQL", statusFailed},
		{[]string{"serve", "--database-url", "postgres://u:" + canary + "@[bad/x"}, "database URL", statusUsage},
		{[]string{"serve", "--database-url", "postgres://u:" + canary + "/x@127.0.0.1/x"}, "such as %2F for /", statusUsage},
		{[]string{"serve", "--database-url", "postgres://u:12#" + canary + "@127.0.0.1/x"}, "such as %2F for /", statusUsage},
		{[]string{"migrate", "up", "--database-url", "postgres://u:" + canary + "@[::1]:1,[::1]:2/x"}, "reach PostgreSQL", statusFailed},
		{[]string{"audit", "--database-url", "postgres://u:" + canary + "/@[::1]:1,[::1]:2/x"}, "such as %2F for /", statusUsage},
		{[]string{"migrate", "up", "--database-url", "postgres://u:12?" + canary + "@127.0.0.1/x"}, "such as %2F for /", statusUsage},
		{[]string{"audit", "--database-url", "postgres://u:%zz" + canary + "@127.0.0.1/x"}, "such as %2F for /", statusUsage},
		{[]string{"audit", "--database-url", "postgres://u:" + canary + "@127.0.0.1:65536/x"}, "invalid port", statusUsage},
		{[]string{"serve", "--database-url", "citus://u:" + canary + "@127.0.0.1/x?pool_max_conns=0"}, "pool_max_conns", statusUsage},
		{[]string{"serve", "--database-url", "postgres://127.0.0.1:1/x?default_query_exec_mode=simple_protocol"}, "types of parameters", statusUsage},
		{[]string{"serve", "--database-url", "postgres://127.0.0.1:1/x?sslmode=verify-ca&sslrootcert=/nowhere/ca"}, "/nowhere/ca", statusFailed},
		{[]string{"serve", "--database-url", file, "--redis-url", "redis://:" + canary + "@127.0.0.1:65536"}, "redis URL", statusUsage},
		{[]string{"serve", "--redis-url", "redis+sentinel://127.0.0.1:1,127.0.0.1:65536/main"}, "HOST:PORT", statusUsage},
		{[]string{"serve", "--redis-url", "redis+cluster://127.0.0.1:1,127.0.0.1:65536"}, "HOST:PORT", statusUsage},
		{[]string{"serve", "--database-url", file, "--redis-url", "redis://:12/" + canary + "@127.0.0.1"}, "such as %2F for /", statusUsage},
		{[]string{"serve", "--database-url", file, "--redis-url", "redis://:1^" + canary + "@127.0.0.1"}, "such as %2F for /", statusUsage},
		{[]string{"serve", "--lock", "redlock", "--redis-url", "redis://a,redis://b,redis://:1," + canary + "@c,redis://d"}, "redis URL", statusUsage},
		{[]string{"serve", "--database-url", "mysql://u:" + canary + "@h/x"}, "database URL", statusUsage},
		{[]string{"serve", "--database-url", file, "--redis-url", "redis://:" + canary + "@127.0.0.1:1"}, "reach Redis", statusFailed},
		{[]string{"serve", "--database-url", file, "--redis-url", "redis://:" + canary + "@[bad"}, "redis URL", statusUsage},
		{[]string{"serve", "--lock", "redlock", "--redis-url", "redis://a"}, "odd number of Redis URLs", statusUsage},
		{[]string{"serve", "--lock", "redlock", "--redis-url", "redis://a,redis://b,redis://c,redis://d"}, "odd number of Redis URLs", statusUsage},
		{[]string{"serve", "--lock", "redlock", "--redis-url", "redis://a,redis://:" + canary + "@b,redis://b"}, "b:6379 is named twice", statusUsage},
		{[]string{"serve", "--lock", "redlock", "--redis-url", "redis://a,redis://b,embedded"}, "redis URL", statusUsage},
		{[]string{"serve", "--lock", "fair", "--redis-url", "redis://a,redis://:" + canary + "@b"}, "one Redis URL", statusUsage},
		{[]string{"serve", "--database-url", "sqlite:/nowhere/inventory.db"}, "/nowhere", statusFailed},
		{[]string{"audit", "--database-url", file + "-none"}, "no SQLite file", statusFailed},
		{[]string{"serve", "--database-url", "sqlite:../inventory"}, "../inventory is not a file", statusFailed},
		{[]string{"audit", "--database-url", "sqlite:../inventory"}, "../inventory is not a file", statusFailed},
		{[]string{"migrate", "up", "--database-url", "sqlite:" + os.DevNull}, os.DevNull + " is not a file", statusFailed},
		{[]string{"outbox", "status", "--database-url", "sqlite:../inventory"}, "../inventory is not a file", statusFailed},
		{[]string{"migrate", "up", "--database-url", "postgres://u:" + canary + "@127.0.0.1:1/x"}, "reach PostgreSQL", statusFailed},
	})
}

func TestMigrate(t *testing.T) {
	t.Parallel()
	for name, url := range map[string]string{"sqlite": sqliteFile(t), "postgres": database(t)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			files, err := filepath.Glob(filepath.Join("../../migrations", name, "*.up.sql"))
			if err != nil || len(files) == 0 {
				t.Fatal(files, err)
			}
			all := len(files)
			applied := func(args ...string) int {
				t.Helper()
				r := invoke(t, append(args, "--database-url", url)...)
				if r.code != 0 || strings.Count(r.out, "\n") != all {
					t.Fatalf("%v: exit status %d, %s%s", args, r.code, r.out, r.err)
				}
				return strings.Count(r.out, "applied")
			}
			type step struct {
				command string
				want    int
			}
			for _, step := range []step{
				{"status", 0}, {"down", 0}, {"up", all}, {"up", all}, {"down", all - 1}, {"down", all - 2}, {"status", all - 2}, {"up", all},
			} {
				args := []string{"migrate", step.command}
				if step.command == "down" {
					args = append(args, "--yes")
				}
				if got := applied(args...); got != step.want {
					t.Fatalf("migrate %s: %d applied, want %d", step.command, got, step.want)
				}
			}
		})
	}
}

// TestMigrateDownMakesNoFile: a misspelt file name creates no file.
func TestMigrateDownMakesNoFile(t *testing.T) {
	t.Parallel()
	url := sqliteFile(t)
	if r := invoke(t, "migrate", "down", "--database-url", url); r.code != 0 || strings.Contains(r.out, "applied") {
		t.Errorf("exit status %d, %s%s", r.code, r.out, r.err)
	}
	oneLine(t, invoke(t, "audit", "--database-url", url), "no SQLite file")
}

func TestAuditFindsADifference(t *testing.T) {
	t.Parallel()
	url := database(t)
	if r := invoke(t, "demo", "--database-url", url, "--stock", "100", "--buyers", "60"); r.code != 0 {
		t.Fatal(r.err)
	}
	var report api.AuditReport
	r := invoke(t, "audit", "--json", "--database-url", url)
	if err := json.Unmarshal([]byte(r.out), &report); err != nil || r.code != 0 || !report.OK || len(report.SKUs) != 1 {
		t.Fatalf("exit status %d, %v, %s", r.code, err, r.out)
	}
	if s := report.SKUs[0]; s.Initial != 100 || s.Committed != 60 || s.Available != 40 || s.Difference != 0 {
		t.Errorf("audit: %+v", s)
	}
	execute(t, url, "UPDATE stock_segments SET available = available + 1 WHERE segment = 3")
	r = invoke(t, "audit", "--json", "--database-url", url)
	if err := json.Unmarshal([]byte(r.out), &report); err != nil || r.code != statusFound || report.OK || report.SKUs[0].Difference != -1 {
		t.Errorf("after a unit came from nowhere: exit status %d, %v, %s", r.code, err, r.out)
	}
	if r := invoke(t, "audit", "--database-url", url); r.code != statusFound || !strings.Contains(r.out, "written off") || !strings.Contains(r.out, "NOT every unit adds up") {
		t.Errorf("after a unit came from nowhere: exit status %d, %s", r.code, r.out)
	}
}

func TestDemo(t *testing.T) {
	busytest.Slow(t)
	t.Parallel()
	soldOut := func(s *sale) bool { return s.Accepted == s.Stock && s.SoldOut == int64(s.Requests)-s.Stock }
	nearlySoldOut := func(s *sale) bool { return s.UnitsSold > s.Stock-5 }
	for _, c := range []struct {
		name          string
		stock, buyers int
		args          []string
		want          func(*sale) bool
	}{
		{"one unit each", 500, 1000, nil, soldOut},
		{"nothing divides", 499, 750, []string{"--segments", "7"}, soldOut},
		{"mixed quantities", 500, 1000, []string{"--quantity", "1-5"}, nearlySoldOut},
		{"no locks", 500, 400, []string{"--lock", "none", "--quantity", "1-5"}, nearlySoldOut},
		{"fair locks", 500, 400, []string{"--lock", "fair", "--quantity", "1-5"}, nearlySoldOut},
		{"RedLocks", 500, 400, []string{"--lock", "redlock", "--quantity", "1-5"}, nearlySoldOut},
		{"real servers", 500, 1000, []string{"--quantity", "1-5", "--database-url", database(t), "--redis-url", redisServer.URL()}, nearlySoldOut},
		{"not sold out", 1000, 20, nil, func(s *sale) bool { return s.Accepted == int64(s.Requests) && s.SoldOut == 0 }},
		{"nothing to sell", 0, 20, nil, soldOut},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			args := []string{"demo", "--json", "--stock", strconv.Itoa(c.stock), "--buyers", strconv.Itoa(c.buyers), "--concurrency", fewBuyers}
			r := spawn(t, append(args, c.args...)...)
			s := parse(t, r)
			exact(t, s)
			if r.code != 0 || !c.want(s) {
				t.Errorf("exit status %d, %s%s", r.code, r.out, r.err)
			}
		})
	}
}

// fewBuyers is how many buyers of a demo buy at once in a test: each then has an answer in time on a slow machine too.
const fewBuyers = "32"

func TestDemoOfLargeOrdersMerges(t *testing.T) {
	t.Parallel()
	// Each order asks for more than a segment holds, so at least the first one takes from several. Orders that would
	// fit one segment may all be filled without a merge: a merge also moves units to one segment for later orders.
	s := parse(t, invoke(t, "demo", "--json", "--quantity", "1500", "--buyers", "30"))
	exact(t, s)
	if s.Accepted != 6 || s.InsufficientStock != 24 || s.Merges == 0 {
		t.Errorf("summary %+v", s)
	}
}

func TestHelpShowsTheDefaultsOfTheDemo(t *testing.T) {
	t.Parallel()
	help := invoke(t, "demo", "--help").out
	for _, text := range []string{"--stock=10000", "--segments=10", "--buyers=20000", "--quantity=1", "--concurrency=256"} {
		if !strings.Contains(help, text) {
			t.Errorf("demo --help does not say %s", text)
		}
	}
}

func parse(t *testing.T, r result) (s *sale) {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(r.out))
	d.DisallowUnknownFields()
	if err := d.Decode(&s); err != nil || d.More() {
		t.Fatalf("%v in %s%s", err, r.out, r.err)
	}
	return s
}

// exact checks what holds for every sale.
func exact(t *testing.T, s *sale) {
	t.Helper()
	if s.Errors != 0 || s.Oversold != 0 || s.Stranded != 0 || !s.AuditOK ||
		s.Accepted+s.SoldOut+s.InsufficientStock != int64(s.Requests) {
		t.Errorf("summary %+v", s)
	}
}

func TestDemoForAPersonLeavesNothingBehind(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	r := invoke(t, "demo", "--buyers", "50", "--stock", "40")
	if r.code != 0 || !strings.Contains(r.out, "audit               OK") || !strings.Contains(r.err, "embedded") {
		t.Errorf("exit status %d, %s%s", r.code, r.out, r.err)
	}
	left, err := filepath.Glob(filepath.Join(os.TempDir(), "*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestEnvironmentSetsFlags(t *testing.T) {
	t.Setenv("INVENTORY_STOCK", "30")
	t.Setenv("INVENTORY_BUYERS", "20")
	if s := parse(t, invoke(t, "demo", "--json")); s.Stock != 30 || s.Requests != 20 {
		t.Errorf("summary %+v", s)
	}
}

// TestTheWordsThatPeopleTryFirst work like flags.
func TestTheWordsThatPeopleTryFirst(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ asked, like []string }{
		{nil, []string{"--help"}},
		{[]string{"help"}, []string{"--help"}},
		{[]string{"version"}, []string{"--version"}},
		{[]string{"help", "migrate", "up"}, []string{"migrate", "up", "--help"}},
	} {
		got, want := invoke(t, c.asked...), invoke(t, c.like...)
		if got.code != 0 || got.out == "" || got.out != want.out {
			t.Errorf("%q: exit status %d, %s, want what %q prints", c.asked, got.code, got.out, c.like)
		}
	}
}

// TestErrorsAreToldOnceInPlainWords: no error has words of Go, or the same thing twice.
func TestErrorsAreToldOnceInPlainWords(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{
		{"serve", "--log-level", "loud"},
		{"serve", "--listen", "127.0.0.1:99999"},
		{"serve", "--database-url", "postgres://127.0.0.1:1/x"},
		{"audit", "--database-url", "postgres://127.0.0.1:1/x"},
		{"migrate", "status", "--database-url", "postgres://127.0.0.1:1/x"},
	} {
		r := invoke(t, args...)
		for _, word := range []string{"slog:", "context canceled", "context deadline", "strconv", "unmarshal", "1 steps"} {
			if strings.Contains(r.err, word) {
				t.Errorf("%q: %s has the word %q", args, r.err, word)
			}
		}
		if refused := strings.Count(r.err, "connection refused"); r.code == 0 || refused > 1 {
			t.Errorf("%q: exit status %d, %s", args, r.code, r.err)
		}
	}
}
