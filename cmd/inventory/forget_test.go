package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// forgetKey returns a file with a key by which buyers are forgotten.
func forgetKey(t *testing.T, key string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "forget-key")
	if err := os.WriteFile(file, []byte(key+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// TestForget: orders of a buyer who is forgotten are answered as before when they are sent again, and the limit counts what the buyer had.
func TestForget(t *testing.T) {
	t.Parallel()
	url, key := sqliteFile(t), forgetKey(t, "a secret of sixteen bytes or more")
	args := []string{"--database-url", url, "--lock", "none", "--forget-key", key}
	p := serve(t, args...)
	const buyer = "ann.smith@example.com"
	order := func(id, units string) string {
		return `{"order_id":"` + id + `","buyer_id":"` + buyer + `","quantity":` + units + `}`
	}
	p.asks("201", "PUT", "/skus/a", `{"stock":9,"per_buyer_limit":3}`)
	p.asks("201", "POST", "/skus/a/deductions", order("o-1", "2"))
	p.asks("201", "POST", "/skus/a/deductions", strings.Replace(order("o-2", "1"), buyer, "bob", 1))
	p.end(syscall.SIGTERM)
	for range 2 { // the second time there is nothing to do
		if r := invoke(t, "forget", "--database-url", url, "--buyer", buyer, "--forget-key", key); r.code != 0 || r.out != buyer+" is forgotten\n" {
			t.Fatalf("exit status %d, %s%s", r.code, r.out, r.err)
		}
	}
	p = serve(t, args...)
	p.asks("200", "POST", "/skus/a/deductions", order("o-1", "2"))
	p.asks("409 buyer_limit", "POST", "/skus/a/deductions", order("o-3", "2"))
	p.asks("201", "POST", "/skus/a/deductions", order("o-3", "1"))
	p.asks("200", "GET", "/skus/a/deductions/o-1?buyer_id="+buyer, "")
	p.end(syscall.SIGTERM)
	if r := invoke(t, "audit", "--database-url", url); r.code != 0 {
		t.Errorf("the audit: %s%s", r.out, r.err)
	}
	other := forgetKey(t, "another secret of sixteen bytes")
	cannotBe(t, []string{"forget", "--database-url", url}, []failure{
		{[]string{"--buyer", "bob"}, "--forget-key", statusUsage},
		{[]string{"--forget-key", key}, "--buyer", statusUsage},
		{[]string{"--buyer", "bob", "--forget-key", other}, "another key", statusUsage},
		{[]string{"--buyer", "bob", "--forget-key", forgetKey(t, "short")}, "needs 16 at least", statusUsage},
		{[]string{"--buyer", "b\x01b", "--forget-key", key}, "control characters", statusUsage},
	})
	cannotBe(t, []string{"serve", "--database-url", url}, []failure{{[]string{"--forget-key", other}, "another key", statusUsage}})
}
