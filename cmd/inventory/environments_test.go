//go:build environments

package main

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"inventory/internal/busytest"
	"inventory/internal/servertest"
)

// between starts a program that stands between the processes and their servers or callers.
func between(t *testing.T, name string, setup servertest.Setup) *servertest.Program {
	t.Helper()
	p, err := servertest.StartProgram(t.Context(), name, setup)
	if err != nil {
		t.Fatal(err)
	}
	stopLater(t, p.Stop)
	return p
}

// stopLater stops a server at the end of the test.
func stopLater(t *testing.T, stop func() error) {
	t.Cleanup(func() {
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}

// restarts kills a program, as a crash would, and starts it again.
func restarts(t *testing.T, p *servertest.Program) func() {
	return func() {
		if err := errors.Join(p.Kill(), p.Restart(t.Context())); err != nil {
			t.Error(err)
		}
	}
}

// at returns a URL with another address.
func at(t *testing.T, of, address string) string {
	t.Helper()
	u, err := url.Parse(of)
	if err != nil {
		t.Fatal(err)
	}
	u.Host = address
	return u.String()
}

// site is three processes on one database, as an environment shows it to them.
type site struct {
	t         *testing.T
	database  string // its URL
	processes []*process
}

// openSite migrates a new database three times at once, and starts the processes with some flags. direct are the flags for what
// needs a session of its own.
func openSite(t *testing.T, database string, direct []string, flags ...string) *site {
	t.Helper()
	s := &site{t: t, database: database}
	var migrations sync.WaitGroup
	for range 3 {
		migrations.Go(func() { s.run(append([]string{"migrate", "up"}, direct...)...) })
	}
	migrations.Wait()
	if t.Failed() {
		t.FailNow()
	}
	s.run("outbox", "on")
	for range 3 {
		s.processes = append(s.processes, launch(t, slices.Concat([]string{"--database-url", database}, direct, flags)...))
	}
	for _, p := range s.processes {
		p.listens()
	}
	return s
}

// run runs a command on the database, and returns what it prints.
func (s *site) run(args ...string) string {
	s.t.Helper()
	r := spawn(s.t, append(args, "--database-url", s.database)...)
	if r.code != 0 {
		s.t.Errorf("%v: exit status %d, %s%s", args, r.code, r.out, r.err)
	}
	return r.out
}

// works holds a sale, in the middle of which the environment is disturbed, and then does what else shops and operators do.
// /readyz says the texts, or else that all is well.
func (s *site) works(buyers int, disturb func(), says ...string) {
	s.t.Helper()
	stock := buyers / 2
	c := newCrowd(s.t, int64(stock), s.processes...)
	start := time.Now()
	c.buy(buyers, func(accepted int64) {
		if accepted == int64(stock/3) && disturb != nil {
			disturb()
		}
	})
	s.t.Logf("%d buyers in %v", buyers, time.Since(start))
	if len(c.won) != stock || len(c.errors) > 0 {
		s.t.Errorf("%d won of %d, %d errors: %v", len(c.won), stock, len(c.errors), errors.Join(c.errors...))
	}
	c.everyWinHasItsRow(s.processes[1])
	s.isHealthy(says...)
	s.hears()
	s.shops()
	if rows := len(changesIn(s.t, s.run("outbox", "read", "--json"))); rows < stock {
		s.t.Errorf("the outbox has %d rows after %d orders", rows, stock)
	}
	s.run("migrate", "status")
	s.run("audit")
	s.ends()
}

// isHealthy waits until each process hears of restocks, and says the texts, or else that all is well.
func (s *site) isHealthy(says ...string) {
	s.t.Helper()
	well := func(ready string) bool {
		if len(says) == 0 {
			return strings.Contains(ready, `"locks":"ok"`) && !strings.Contains(ready, "warnings")
		}
		return !slices.ContainsFunc(says, func(text string) bool { return !strings.Contains(ready, text) })
	}
	for _, p := range s.processes {
		busytest.Soon(s.t, fmt.Sprintf("a process is healthy, and says %q", says), func() bool {
			ready, metrics := p.get("/readyz"), p.get("/metrics")
			return strings.Contains(ready, `"database":"ok"`) && strings.Contains(metrics, "\ninventory_notices_failing 0\n") && well(ready)
		})
	}
}

// hears measures how soon one process sells the units that another has added, beside units that it has added itself as a control.
// Without a notice it would sell them when it has forgotten that the SKU was sold out, which takes a second.
func (s *site) hears() {
	s.t.Helper()
	here, there := s.processes[0], s.processes[2]
	here.asks("201", http.MethodPut, "/skus/heard", `{"stock":0,"segments":1}`)
	round := 0
	sells := func(from *process) time.Duration {
		s.t.Helper()
		round++
		order := fmt.Sprintf(`{"order_id":"heard-%d","quantity":1}`, round)
		for range 2 { // the second is refused from memory
			here.asks("409 sold_out", http.MethodPost, "/skus/heard/deductions", order)
		}
		from.asks("201", http.MethodPost, "/skus/heard/restock", fmt.Sprintf(`{"ref":"heard-%d","quantity":1}`, round))
		start := time.Now()
		busytest.Soon(s.t, "units of a restock are sold", func() bool {
			got := here.ask(http.MethodPost, "/skus/heard/deductions", order)
			return got == "201" || got == "200" // the latter after an answer that came too late
		})
		return time.Since(start)
	}
	own, others := sells(here), sells(there)
	for range 8 {
		own, others = min(own, sells(here)), min(others, sells(there))
	}
	if others > 50*own {
		s.t.Errorf("accepted %v after a restock elsewhere, and %v after one here", others, own)
	}
}

// shops reserves, extends, commits and gives back, and orders several SKUs, each at another process than before.
func (s *site) shops() {
	s.t.Helper()
	turn := 0
	for _, step := range []struct{ want, method, path, body string }{
		{"201", http.MethodPut, "/skus/left", `{"stock":10}`},
		{"201", http.MethodPut, "/skus/right", `{"stock":10}`},
		{"201", http.MethodPost, "/skus/left/deductions", `{"order_id":"a","quantity":3,"reserve_for":"5m"}`},
		{"200", http.MethodPost, "/skus/left/deductions/a/extend", `{"ref":"longer","reserve_for":"10m"}`},
		{"200", http.MethodPost, "/skus/left/deductions/a/cancel", `{"ref":"one","quantity":1}`},
		{"200", http.MethodPost, "/skus/left/deductions/a/commit", `{"quantity":1}`},
		{"200", http.MethodPost, "/skus/left/deductions/a/return", `{"ref":"back","quantity":1}`},
		{"201", http.MethodPost, "/orders", `{"order_id":"basket","lines":[{"sku":"left","quantity":2},{"sku":"right","quantity":10}]}`},
		{"409 sold_out", http.MethodPost, "/orders", `{"order_id":"other","lines":[{"sku":"left","quantity":2},{"sku":"right","quantity":1}]}`},
		{"200", http.MethodPost, "/orders", `{"order_id":"basket","lines":[{"sku":"left","quantity":2},{"sku":"right","quantity":10}]}`},
		{"200", http.MethodPost, "/deductions", `{"deductions":[{"sku":"left","order_id":"many","quantity":1}]}`},
		{"201", http.MethodPost, "/skus/left/resegment", `{"ref":"four","segments":4}`},
		{"201", http.MethodPatch, "/skus/left", `{"ref":"five","per_buyer_limit":5}`},
		{"200", http.MethodGet, "/skus", ""},
		{"200", http.MethodGet, "/skus/left/deductions", ""},
		{"200", http.MethodGet, "/skus/left/movements", ""},
	} {
		s.processes[turn%len(s.processes)].asks(step.want, step.method, step.path, step.body)
		turn++
	}
}

// ends stops the processes in order.
func (s *site) ends() {
	s.t.Helper()
	for _, p := range s.processes {
		if code := p.end(syscall.SIGTERM); code != 0 {
			s.t.Errorf("exit status %d: %s", code, p.log.String())
		}
	}
}
