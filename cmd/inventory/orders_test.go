package main

import (
	"regexp"
	"testing"
)

// TestExport prints what was sold, once orders are listed.
func TestExport(t *testing.T) {
	t.Parallel()
	for name, url := range map[string]string{"sqlite": sqliteFile(t), "postgres": database(t)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := serve(t, "--database-url", url, "--lock", "none")
			p.asks("201", "PUT", "/skus/a", `{"stock":9}`)
			p.asks("201", "POST", "/skus/a/deductions", `{"order_id":"=o-1","buyer_id":"ann, the first","quantity":2}`)
			p.asks("201", "POST", "/skus/a/deductions", `{"order_id":"o-2","quantity":1,"reserve_for":"1h"}`)
			cannotBe(t, []string{"export", "--database-url", url}, []failure{
				{nil, "inventory orders on", statusFailed},
				{[]string{"--since", "yesterday"}, "--since", statusUsage},
				{[]string{"--status", "sold"}, "status must be", statusUsage},
			})
			p.asks("409 orders_not_listed", "GET", "/orders", "")
			says := func(want string, args ...string) {
				t.Helper()
				r := invoke(t, append(args, "--database-url", url)...)
				if got := regexp.MustCompile(`20[0-9-]+T[0-9:.]+Z`).ReplaceAllString(r.out, "AT"); r.code != 0 || got != want {
					t.Errorf("%v: exit status %d, %s%s, want %s", args, r.code, got, r.err, want)
				}
			}
			says("orders are listed\n", "orders", "on")
			p.asks("200", "GET", "/orders?buyer_id=ann,%20the%20first", "")
			const head = "created_at,sku,order_id,namespace,buyer_id,quantity,status,committed_at\n"
			first, second := "AT,a,'=o-1,,\"ann, the first\",2,committed,AT\n", "AT,a,o-2,,,1,reserved,\n"
			says(head+first+second, "export")
			says(head+first, "export", "--buyer", "ann, the first", "--since", "2020-01-01T00:00:00Z")
			says(head, "export", "--until", "2020-01-01T00:00:00Z")
			says(`{"created_at":"AT","sku":"a","order_id":"o-2","quantity":1,"status":"reserved"}`+"\n", "export", "--format", "json", "--status", "reserved")
			says("orders are not listed\n", "orders", "off")
		})
	}
}
