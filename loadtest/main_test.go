package main

import (
	"context"
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/redis/go-redis/v9/logging"
	"go.uber.org/goleak"

	"inventory/internal/app"
	"inventory/internal/busytest"
	"inventory/internal/cli"
	"inventory/loadtest/internal/gauges"
	"inventory/loadtest/internal/target"
	"inventory/loadtest/internal/worker"
)

// isLab is the variable with which the test program is the lab.
const isLab = "LOADTEST_TEST_IS_LAB"

func TestMain(m *testing.M) {
	worker.Main(workers()) // the lab starts itself
	if os.Getenv(isLab) != "" {
		main()
		os.Exit(0)
	}
	os.Exit(runTests(m))
}

// program returns the lab as a person starts it.
func program(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	command := exec.CommandContext(t.Context(), os.Args[0], args...)
	command.Env = append(os.Environ(), isLab+"=yes")
	return command
}

func runTests(m *testing.M) int {
	logging.Disable()
	// Most of these tests wait for what is planned to happen, and compute little.
	if err := flag.Set("test.parallel", "6"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	code := m.Run()
	// The goroutine that closes idle connections sleeps, and a pool whose server is down checks once a second whether it has been closed.
	cleaning := goleak.IgnoreAnyFunction("github.com/valyala/fasthttp.(*HostClient).connsCleaner")
	forgetting := goleak.IgnoreAnyFunction("github.com/valyala/fasthttp.(*Client).mCleaner")
	if err := busytest.Leaks(cleaning, forgetting); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}

// outcome is what a run of the program left behind.
type outcome struct {
	code     int
	out, err string
}

func runWith(ctx context.Context, args ...string) outcome {
	var out, errs busytest.Log // the service logs while the lab does
	code := run(ctx, args, cli.Streams{Out: &out, Err: &errs})
	return outcome{code, out.String(), errs.String()}
}

// wantOneLine demands an exit status, and one line that contains says.
func (o outcome) wantOneLine(t *testing.T, code int, says string) {
	t.Helper()
	if o.code != code || o.out != "" || strings.Count(o.err, "\n") != 1 || !strings.Contains(o.err, says) {
		t.Errorf("exit status %d, standard output %q, standard error %q; want %d and one line with %q", o.code, o.out, o.err, code, says)
	}
	if strings.Contains(o.err, "secret") {
		t.Errorf("a secret is told: %s", o.err)
	}
}

func writeFile(t *testing.T, text string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "orders.csv")
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// nobody is an address without a listener: no server gets the port by chance.
const nobody = "127.0.0.1:1"

func TestHelpTellsEveryDefault(t *testing.T) {
	t.Parallel()
	for _, scenario := range []string{"replay", "flash-sale", "locks", "contenders", "explain", "chaos"} {
		help := runWith(t.Context(), scenario, "--help")
		if help.code != 0 || help.err != "" {
			t.Fatalf("%s: %+v", scenario, help)
		}
		// Except --help itself, which stands behind -h.
		if flags, defaults := strings.Count(help.out, "\n      --"), strings.Count(help.out, "Default:"); flags != defaults {
			t.Errorf("%s: %d flags tell %d defaults:\n%s", scenario, flags, defaults, help.out)
		}
	}
}

// TestACorruptFileSendsNothing watches a service that would answer anything.
func TestACorruptFileSendsNothing(t *testing.T) {
	t.Parallel()
	var asked atomic.Int64
	service := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked.Add(1) }))
	defer service.Close()
	file := writeFile(t, "order_id,at,buyer_id,sku,quantity\n1,2010-12-01T08:26:00Z,2,85123A,6\n1,2010-12-01T08:26:00Z,2,85123A,x\n")
	result := filepath.Join(t.TempDir(), "result.json")
	runWith(t.Context(), "replay", "--orders", file, "--url", service.URL, "--database-url", "sqlite:"+file, "--json", result).
		wantOneLine(t, 1, file+`: line 3: quantity "x"`)
	if asked.Load() > 0 {
		t.Errorf("%d requests were sent", asked.Load())
	}
	if _, err := os.Stat(result); err == nil {
		t.Error("there is a result")
	}
}

// TestTheDatabaseOfTheServiceIsNeeded audits another database than the one that was sold from.
func TestTheDatabaseOfTheServiceIsNeeded(t *testing.T) {
	t.Parallel()
	url, databaseURL := startService(t)
	runWith(t.Context(), "replay", "--orders", writeFile(t, handMade), "--url", url, "--database-url", databaseURL+".not").
		wantOneLine(t, 1, "there is no SQLite file")
	_, other := startService(t)
	got := runWith(t.Context(), "replay", "--orders", writeFile(t, handMade), "--url", url, "--database-url", other, "--json=-")
	if got.code != 1 || !strings.Contains(got.err, "is it the one that the service uses?") || !strings.Contains(got.out, `"wrong":["`) {
		t.Errorf("%+v", got)
	}
}

// startService starts a service on a SQLite file of its own.
func startService(t *testing.T) (url, databaseURL string) {
	t.Helper()
	databaseURL = "sqlite:" + filepath.Join(t.TempDir(), "inventory.db")
	service, err := app.Start(t.Context(), app.Config{DatabaseURL: databaseURL, AnswerWithin: target.AnswerWithin})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := service.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return service.URL(), databaseURL
}

// TestTheServiceCollectsGarbageAsTheProductDoes, which the lab compares with others.
func TestTheServiceCollectsGarbageAsTheProductDoes(t *testing.T) { // not parallel: it sets a variable
	t.Setenv("GOGC", "") // which the product obeys
	service, err := target.Open(t.Context(), target.Config{})
	if err != nil {
		t.Fatal(err)
	}
	found, err := gauges.Scrape(t.Context(), service.AdminURLs[0])
	if percent := found.Total("go_gc_gogc_percent"); err != nil || percent != 400 {
		t.Errorf("GOGC is %v, want 400; %v", percent, err)
	}
	if err := service.Close(); err != nil {
		t.Error(err)
	}
}

// run is the program inside a test: it returns the exit status.
func run(ctx context.Context, args []string, s cli.Streams) int {
	return cli.Run(ctx, args, s, &scenarios{}, options()...)
}
