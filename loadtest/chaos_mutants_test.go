package main

import (
	"cmp"
	"path/filepath"
	"regexp"
	"testing"
)

// edit is a change of a source file: what is found is replaced. It has to be there.
type edit struct {
	files string // a pattern of paths
	find  *regexp.Regexp
	with  string
}

// mutants are services that break a promise, by what guards it. Chaos complains in its first rounds.
var mutants = map[string]struct {
	flags []string // under which the guard is what is left
	edits []edit
	says  []string // one of these broken promises is named
}{
	"without the stock condition and its CHECK": {
		flags: []string{"--lock=none"},
		edits: []edit{
			{"../internal/stock/postgres/deduct.sql", regexp.MustCompile(`available >= @units(::bigint)?`), "@units::bigint IS NOT NULL"},
			{"../internal/stock/postgres/take_*.sql", regexp.MustCompile(`available >= units`), "units IS NOT NULL"},
			{"../migrations/postgres/*_base.up.sql", regexp.MustCompile(` CHECK \(available >= 0\)`), ""},
		},
		says: []string{"oversold", "audit"},
	},
	"without the order id's key": {
		edits: []edit{
			{"../migrations/postgres/*_base.up.sql", regexp.MustCompile(`PRIMARY KEY \(sku_id, order_id\)`), "PRIMARY KEY (sku_id, order_id, created_at)"},
			{"../migrations/postgres/*.up.sql", regexp.MustCompile(`,\s+FOREIGN KEY \(sku_id, order_id\) REFERENCES deductions \(sku_id, order_id\)`), ""},
			{"../internal/stock/postgres/*.sql", regexp.MustCompile(`ON CONFLICT \(sku_id, order_id\) DO NOTHING`), ""},
		},
		says: []string{"twice", "audit"},
	},
	"that forgets the refs of amendments": {
		edits: []edit{
			{"../internal/stock/settlement.go", regexp.MustCompile(`replayed := amended\[(w|request)\.OrderID\]`), `replayed := amended[""]`},
			{"../internal/stock/postgres/settle.sql", regexp.MustCompile(`AS new \(o, r, k, u, e, why\)`), "AS new (o, r, k, u, e, why) ON CONFLICT DO NOTHING"},
		},
		says: []string{"amendment", "audit"},
	},
	"whose cancel takes back what is committed": {
		flags: []string{"--fault=none"},
		edits: []edit{
			{"../internal/stock/settlement.go", regexp.MustCompile(`w\.Verb != Return && d\.Status == StatusReserved:`), "w.Verb != Return && d.Status == StatusReserved, w.Verb == Cancel && committed:"},
		},
		says: []string{"undone"},
	},
	"that sells again what was written off": {
		flags: []string{"--fault=none"},
		edits: []edit{{"../internal/stock/settlement.go", regexp.MustCompile(`writesOff := request\.WriteOff &&`), "writesOff := request.WriteOff && request.OrderID == \"\" &&"}},
		says:  []string{"oversold", "audit"},
	},
	"that settles lines alone": {
		flags: []string{"--fault=none"},
		edits: []edit{{"../internal/stock/settlement.go", regexp.MustCompile(`if d\.InOrder && !w\.InOrder &&`), "if d.InOrder && !w.InOrder && w.OrderID == \"\" &&"}},
		says:  []string{"half"},
	},
	"that commits a half of an order": {
		flags: []string{"--fault=none"},
		edits: []edit{
			{
				"../internal/stock/settlement.go", regexp.MustCompile(`plans, results = append\(plans, p\), append\(results, p\.Results\.\.\.\)`),
				"if line.Requests[0].Verb == Commit && line.SKU != lines[0].SKU {\n\t\t\tp = SettlementPlan{Results: p.Results, Returns: newReturns()}\n\t\t}\n\t\tplans, results = append(plans, p), append(results, p.Results...)",
			},
			{
				"../internal/stock/postgres/settle_order.sql", regexp.MustCompile(`SET status = 'committed', committed_at = at\s+FROM decided, held WHERE`),
				"SET status = 'committed', committed_at = at FROM decided, held WHERE d.sku_id = (SELECT min(sku_id) FROM held) AND",
			},
		},
		says: []string{"half"},
	},
	"that retakes what was taken again": {
		flags: []string{"--fault=none"},
		edits: []edit{{
			"../internal/stock/tables/settle.go", regexp.MustCompile(`d\.Removed, !r\.Request\.MayRetake\(d\.Status\), stock\.CodeOf\(err\) != stock\.CodeNotReserved:`),
			"d.Removed, !r.Request.MayRetake(d.Status) && d.Status != stock.StatusCommitted:",
		}},
		says: []string{"missing"},
	},
	"that returns what was returned": {
		flags: []string{"--fault=none"},
		edits: []edit{
			{"../internal/stock/settlement.go", regexp.MustCompile(`case w\.Verb == Return && committed,`), "case w.Verb == Return && (committed || d.Status == StatusReturned),"},
			{"../internal/stock/settlement.go", regexp.MustCompile(`if !before\.Status\.Live\(\) \{`), "if !before.Status.Live() && before.Status != StatusReturned {"},
		},
		says: []string{"oversold", "audit"},
	},
	"that tells ended orders as accepted": {
		flags: []string{"--fault=none"},
		edits: []edit{{"../internal/stock/selling/deduct.go", regexp.MustCompile(`err == nil && !d\.Status\.Live\(\)`), `err == nil && d.Status == ""`}},
		says:  []string{"ended"},
	},
	"that makes a change of an order again": {
		flags: []string{"--fault=none"},
		edits: []edit{
			{"../internal/stock/tables/change.go", regexp.MustCompile(`case there\.Ref != "":`), `case there.Ref != "" && r.Change.Ref == "":`},
			{"../internal/stock/change.go", regexp.MustCompile(`case f\.RefUsed:`), `case f.RefUsed && r.Change.Ref == "":`},
			{"../internal/stock/postgres/change.sql", regexp.MustCompile(`WHERE d\.sku_id = @sku_id AND d\.order_id = @order_id;`), "WHERE d.sku_id = @sku_id AND d.order_id = @order_id ON CONFLICT DO NOTHING;"},
			{"../internal/stock/postgres/change.sql", regexp.MustCompile(`FROM orders o WHERE o\.order_id = @order_id;`), "FROM orders o WHERE o.order_id = @order_id ON CONFLICT DO NOTHING;"},
			{"../internal/stock/postgres/settle.sql", regexp.MustCompile(`AS new \(o, r, k, u, e, why\)`), "AS new (o, r, k, u, e, why) ON CONFLICT DO NOTHING"},
		},
		says: []string{"amendment", "audit", "different"},
	},
	"with the fence open": {
		flags: []string{"--lock=fair", "--fault=Redis emptied while writes are late"},
		edits: []edit{
			{"../internal/stock/postgres/deduct.sql", regexp.MustCompile(`\(@token::bigint = 0 OR fence < @token OR \(fence = @token AND fence_owner = @owner\)\)`), "@token::bigint IS NOT NULL"},
			{"../internal/stock/postgres/take_*.sql", regexp.MustCompile(`\(token = 0 OR g\.fence < token OR \(g\.fence = token AND g\.fence_owner = owner\)\)`), "token IS NOT NULL"},
		},
		says: []string{"fence"},
	},
}

// TestMutantsFindWhatTheyChange: a guard that was moved still has its mutant.
func TestMutantsFindWhatTheyChange(t *testing.T) {
	for name, m := range mutants {
		t.Run(name, func(t *testing.T) { changed(t, m.edits) })
	}
}

// changed returns the files of what sources are in a mutant, by the paths of the sources, which stay as they are.
func changed(t *testing.T, edits []edit) map[string]string {
	t.Helper()
	replace := make(map[string]string)
	for _, e := range edits {
		files, err := filepath.Glob(e.files)
		found := false
		for _, file := range files {
			path, _ := filepath.Abs(file) // what is not found fails below
			if text := readFile(t, cmp.Or(replace[path], path)); e.find.MatchString(text) {
				found, replace[path] = true, writeFile(t, e.find.ReplaceAllLiteralString(text, e.with))
			}
		}
		if !found {
			t.Fatalf("no file of %s has %s: %v", e.files, e.find, err)
		}
	}
	return replace
}
