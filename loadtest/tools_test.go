//go:build loadtools

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/jackc/pgx/v5"

	"inventory/internal/access"
	"inventory/internal/app"
	"inventory/internal/busytest"
	"inventory/loadtest/internal/history"
	"inventory/loadtest/internal/servers"
)

// counts are a tool's counts of its orders. The names are those of the script.
type counts struct {
	SKU        string   `json:"sku"`
	Stock      int64    `json:"stock"`
	Accepted   int64    `json:"accepted"` // orders
	Units      int64    `json:"units"`    // of those
	Replayed   int64    `json:"replayed"`
	SoldOut    int64    `json:"sold_out"`
	Other      int64    `json:"other"`
	Unknown    int64    `json:"unknown"`
	Unexpected int64    `json:"unexpected"`
	Dropped    int64    `json:"dropped_iterations"`
	Left       int64    `json:"units_left"`
	Missed     []string `json:"missed"`
}

// TestToolsCountWhatWasSold runs the script for k6 as teams do, with keys, against a service on private servers, and
// compares its counts with the rows.
func TestToolsCountWhatWasSold(t *testing.T) { // not parallel: k6 needs the processor
	s := openShop(t)
	c := s.k6(t, 0, "STOCK=4000", "QUANTITY=1-5", "RATE=1000", "DURATION=3s", "STORM=300", "STORM_FOR=2s", "P99_MS=10000")
	orders, units := s.rows(t, c.SKU)
	t.Logf("%+v, with rows of %d orders of %d units", c, orders, units)
	// It waits for every answer, so nothing is in doubt.
	if c.Accepted != orders || c.Units != units || c.Unexpected+c.Unknown > 0 {
		t.Errorf("it counts %+v, and there are %d orders of %d units", c, orders, units)
	}
	if c.Stock != 4000 || c.Left != c.Stock-units || c.SoldOut == 0 || c.Left != 0 || c.Replayed == 0 {
		t.Errorf("it did not sell everything, or nobody asked again: %+v", c)
	}
	s.audit(t)
}

// TestToolsSendTheSameOrdersAgain demands that a seed decides the orders, and that answers which no order should get are seen.
func TestToolsSendTheSameOrdersAgain(t *testing.T) {
	s := openShop(t)
	short := []string{"STOCK=1000000", "TRICKLE_FOR=1s", "RATE=100", "DURATION=1s", "STORM=1", "STORM_FOR=1s", "SEED=7", "VUS=50"}
	first := s.k6(t, 0, short...)
	short = append(short, "SKU="+first.SKU)
	second := s.k6(t, 0, short...)
	// The seed does not decide whether the last order of a phase is in time.
	if first.Accepted < 50 || second.Accepted > first.Accepted/10 || second.Replayed < first.Accepted-first.Accepted/10 {
		t.Errorf("first %+v, then %+v", first, second)
	}
	const thresholdsMissed = 99
	other := s.k6(t, thresholdsMissed, append(short, "QUANTITY=2", "P99_MS=0")...)
	const bounds = 3 // no unexpected answer, every check, the p99
	if other.Accepted > first.Accepted/10 || other.Unexpected < second.Replayed/2 || len(other.Missed) != bounds {
		t.Errorf("of orders whose ids belong to others it counts %+v", other)
	}
	s.audit(t)
}

// shop is a service that requires keys, on servers of its own.
type shop struct {
	url, databaseURL string
	buyer, admin     string // keys
}

func openShop(t *testing.T) *shop {
	t.Helper()
	private, err := servers.Open(t.Context(), servers.URLs{}, servers.Needs{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := private.Close(); err != nil {
			t.Error(err)
		}
	})
	s := &shop{databaseURL: private.DatabaseURL}
	service, err := app.Start(t.Context(), app.Config{
		DatabaseURL: s.databaseURL, RedisURL: private.RedisURL, Access: access.Config{KeysFile: s.issueKeys(t)},
		AnswerWithin: busytest.Patience, DrainTimeout: busytest.Patience,
	})
	if err != nil {
		t.Fatal(err)
	}
	s.url = service.URL()
	t.Cleanup(func() {
		if err := service.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	return s
}

// issueKeys makes a key of each scope, and the file that lets them in.
func (s *shop) issueKeys(t *testing.T) (file string) {
	t.Helper()
	var buyerLine, adminLine string
	var err, err2 error
	s.buyer, buyerLine, err = access.NewKey("shop", access.ScopeBuyer)
	s.admin, adminLine, err2 = access.NewKey("ops", access.ScopeAdmin)
	file = filepath.Join(t.TempDir(), "keys")
	if err := errors.Join(err, err2, os.WriteFile(file, []byte(buyerLine+"\n"+adminLine+"\n"), 0o600)); err != nil {
		t.Fatal(err)
	}
	return file
}

// k6 sells with settings, and wants k6 to end with an exit status.
func (s *shop) k6(t *testing.T, status int, settings ...string) (c counts) {
	t.Helper()
	ctx := busytest.Context(t)
	file := filepath.Join(t.TempDir(), "counts.json")
	// Without its own server, whose port may be taken, and without reporting to its makers that it runs.
	command := exec.CommandContext(ctx, tool(t, "k6"), "run", "--quiet", "--no-color", "--address=", "--no-usage-report", "k6/flash-sale.js")
	command.Env = append(os.Environ(), "BASE_URL="+s.url, "API_KEY="+s.buyer, "ADMIN_KEY="+s.admin, "SUMMARY="+file)
	command.Env = append(command.Env, settings...)
	out, err := command.CombinedOutput()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	if got := command.ProcessState.ExitCode(); got != status {
		t.Fatalf("k6 ended with %d and not with %d:\n%s", got, status, out)
	}
	text, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(text, &c)
	}
	if err != nil {
		t.Fatalf("%v:\n%s", err, out)
	}
	if said := fmt.Sprintf("%s: %d of", c.SKU, c.Left); !bytes.Contains(out, []byte(said)) {
		t.Errorf("k6 does not tell what is left, %q:\n%s", said, out)
	}
	return c
}

// tool finds a program: on the path, or where scripts/install-load-tools builds it.
func tool(t *testing.T, name string) string {
	t.Helper()
	if path, err := exec.LookPath(name); err == nil {
		return path
	}
	built, err := filepath.Abs(filepath.Join("..", "bin", name))
	if err == nil {
		_, err = os.Stat(built)
	}
	if err != nil {
		t.Fatalf("%s is missing, run: make test-load-tools", name)
	}
	return built
}

// rows counts what a SKU has sold. In: its id. Out: orders, units.
func (s *shop) rows(t *testing.T, sku string) (orders, units int64) {
	t.Helper()
	connection, err := pgx.Connect(t.Context(), s.databaseURL)
	if err != nil {
		t.Fatal(err)
	}
	defer connection.Close(t.Context())
	const sold = `SELECT count(*), coalesce(sum(quantity), 0) FROM deductions WHERE sku_id = $1 AND status = 'committed'`
	if err := connection.QueryRow(t.Context(), sold, sku).Scan(&orders, &units); err != nil {
		t.Fatal(err)
	}
	return orders, units
}

func (s *shop) audit(t *testing.T) {
	t.Helper()
	audit, err := history.AuditRows(t.Context(), s.databaseURL)
	if err != nil || !audit.OK() {
		t.Fatalf("%v: the rows do not add up: %+v", err, audit)
	}
}
