package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"inventory/internal/busytest"
)

// asks sends a request, and holds the status and the code of a problem in the answer against want.
func (p *process) asks(want, method, path, body string) {
	p.t.Helper()
	got, tries := "", 0
	busytest.Soon(p.t, fmt.Sprint(method, " ", path, " is answered"), func() bool {
		tries++
		got = p.ask(method, path, body)
		return !strings.HasPrefix(got, "503")
	})
	if got != want && (tries == 1 || want != "201" || got != "200") { // what got no answer in time may have been created
		p.t.Errorf("%s %s %s: %s, want %s", method, path, body, got, want)
	}
}

// ask sends a request, and returns the status and the code of a problem.
func (p *process) ask(method, path, body string) string {
	p.t.Helper()
	request, err := http.NewRequestWithContext(p.t.Context(), method, p.url+"/v1"+path, strings.NewReader(body))
	if err != nil {
		p.t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		p.t.Fatal(err)
	}
	defer response.Body.Close()
	var problem struct {
		Code string `json:"code"`
	}
	if err := json.NewDecoder(response.Body).Decode(&problem); err != nil {
		p.t.Fatal(method, path, err)
	}
	return strings.TrimSpace(fmt.Sprint(response.StatusCode, " ", problem.Code))
}

// TestPrune prunes while a service runs: a pruned order sells nothing again, every unit adds up, and the outbox has all
// changes.
func TestPrune(t *testing.T) {
	t.Parallel()
	for name, url := range map[string]string{"sqlite": sqliteFile(t), "postgres": database(t)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := serve(t, "--database-url", url, "--lock", "none")
			says := func(want string, args ...string) {
				t.Helper()
				if r := invoke(t, append(args, "--database-url", url)...); r.code != 0 || r.out != want {
					t.Errorf("%v: exit status %d, %s%s, want %s", args, r.code, r.out, r.err, want)
				}
			}
			says("the outbox is on\n", "outbox", "on")
			for _, sku := range []string{"hot", "mild", "cold"} {
				p.asks("201", "PUT", "/skus/"+sku, `{"stock":100,"segments":4}`)
			}
			const both = `{"order_id":"m","lines":[{"sku":"hot","quantity":2},{"sku":"mild","quantity":1}]}`
			p.asks("201", "POST", "/skus/hot/deductions", `{"order_id":"a","quantity":90}`)
			p.asks("201", "POST", "/skus/hot/deductions", `{"order_id":"b","quantity":1,"reserve_for":"1h"}`)
			p.asks("201", "POST", "/orders", both)
			p.asks("201", "POST", "/skus/cold/deductions", `{"order_id":"a","quantity":1}`)
			before := time.Now().Format(time.RFC3339Nano)
			says("0 SKUs: 0 deductions with 0 units pruned\n", "prune", "--before", before)
			p.asks("200", "DELETE", "/skus/hot", "")
			p.asks("200", "POST", "/orders", both) // it is a replay
			p.asks("200", "DELETE", "/skus/mild", "")

			says("hot: 2 deductions with 92 units to prune\nmild: 1 deduction with 1 unit to prune\n2 SKUs: 3 deductions with 93 units to prune\n",
				"prune", "--dry-run", "--before", before)
			p.asks("200", "POST", "/skus/hot/deductions", `{"order_id":"a","quantity":90}`)
			says("hot: 2 deductions with 92 units pruned\nmild: 1 deduction with 1 unit pruned\n2 SKUs: 3 deductions with 93 units pruned\n",
				"prune", "--before", before)
			says("0 SKUs: 0 deductions with 0 units pruned\n", "prune", "--before", before)

			p.asks("410 sku_archived", "POST", "/skus/hot/deductions", `{"order_id":"a","quantity":90}`)
			p.asks("410 sku_archived", "POST", "/orders", both)
			p.asks("422 order_id_reused", "POST", "/orders", `{"order_id":"m","lines":[{"sku":"cold","quantity":1}]}`)
			p.asks("404 unknown_deduction", "GET", "/skus/hot/deductions/a", "")
			p.asks("404 unknown_deduction", "POST", "/skus/mild/deductions/m/cancel", "")
			p.asks("200", "POST", "/skus/hot/deductions/b/commit", "")
			p.asks("200", "GET", "/skus/cold/deductions/a", "")
			audited(t, url)
			busytest.Soon(t, "the outbox shows all changes, which transactions of parallel tests delay", func() bool {
				r := invoke(t, "outbox", "read", "--json", "--database-url", url)
				if r.code != 0 {
					t.Fatal(r.err)
				}
				return len(changesIn(t, r.out)) >= 6
			})
		})
	}
}

func TestPruneThatCannotBe(t *testing.T) {
	t.Parallel()
	file := sqliteFile(t)
	cannotBe(t, []string{"prune", "--database-url", file}, []failure{
		{nil, "--before", statusUsage},
		{[]string{"--before", "yesterday"}, "--before", statusUsage},
		{[]string{"--before", "2020-01-01"}, "such as 2026-01-31T00:00:00Z", statusUsage},
		{[]string{"--before", time.Now().Add(time.Hour).Format(time.RFC3339)}, "must not lie in the future", statusUsage},
		{[]string{"--before", "2026-01-01T00:00:00Z"}, "no SQLite file", statusFailed},
		{[]string{"--before", "2026-01-01T00:00:00Z", "--database-url", database(t)}, "run inventory migrate up", statusFailed},
	})
}
