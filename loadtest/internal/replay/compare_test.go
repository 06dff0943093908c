package replay

import (
	"strings"
	"testing"

	"inventory/internal/stock"
)

func TestCompareFindsWhatDoesNotAddUp(t *testing.T) {
	t.Parallel()
	plan := Plan{SKUs: []SKU{{"10001", 10, 8, 8}}}
	good := stock.Balance{SKU: "run-10001", Initial: 8, Restocked: 2, Available: 4, Committed: 6, Merges: 1}
	for name, c := range map[string]struct {
		change func(*stock.Audit)
		says   string
	}{
		"nothing":       {func(*stock.Audit) {}, ""},
		"another's SKU": {func(a *stock.Audit) { a.SKUs = append(a.SKUs, stock.Balance{SKU: "10001", Initial: 9}) }, ""},
		"another's error": {func(a *stock.Audit) {
			a.SKUs = append(a.SKUs, stock.Balance{SKU: "10001", Violations: []string{"bad"}})
		}, ""},
		"violation":        {func(a *stock.Audit) { a.SKUs[0].Violations = []string{"bad"} }, "bad"},
		"unit lost":        {func(a *stock.Audit) { a.SKUs[0].Available-- }, "units missing: 1"},
		"sale unanswered":  {func(a *stock.Audit) { a.SKUs[0].Available--; a.SKUs[0].Committed++ }, "units sold: 7 in the rows instead of 6"},
		"sale lost":        {func(a *stock.Audit) { a.SKUs[0].Available++; a.SKUs[0].Committed-- }, "units sold: 5"},
		"restock twice":    {func(a *stock.Audit) { a.SKUs[0].Available += 2; a.SKUs[0].Restocked += 2 }, "units restocked: 4"},
		"stock of another": {func(a *stock.Audit) { a.SKUs[0].Available++; a.SKUs[0].Initial++ }, "initial stock: 9"},
		"reserved":         {func(a *stock.Audit) { a.SKUs[0].Available--; a.SKUs[0].Reserved++ }, "units reserved: 1"},
		"adjusted":         {func(a *stock.Audit) { a.SKUs[0].Available++; a.SKUs[0].Adjusted++ }, "units adjusted: 1"},
		"oversold":         {func(a *stock.Audit) { a.SKUs[0].Available = -1; a.SKUs[0].Committed = 11 }, "units oversold: 1"},
		"no such database": {func(a *stock.Audit) { a.SKUs = nil }, "none of the run's SKUs"},
		"SKU missing":      {func(a *stock.Audit) { a.SKUs[0].SKU = "run-10002" }, "10001: the database does not know it"},
	} {
		audit := stock.Audit{SKUs: []stock.Balance{good}}
		c.change(&audit)
		tally := newTally(1)
		tally.Units[0] = Units{Sold: 6, Restocked: 2}
		got := Compare(plan, prefix, tally, audit)
		if got.OK() != (c.says == "") || !strings.Contains(strings.Join(got.Problems, "\n"), c.says) {
			t.Errorf("%s: %q", name, got.Problems)
		}
		r := NewResult(plan, tally, got, "")
		if (r.Err() == nil) != r.AuditOK() {
			t.Errorf("%s: audit_ok is %v, and the error is %v", name, r.AuditOK(), r.Err())
		}
	}
}

// TestWhatNobodyHeardMayHaveRows bounds what an interrupt leaves open.
func TestWhatNobodyHeardMayHaveRows(t *testing.T) {
	t.Parallel()
	plan := Plan{SKUs: []SKU{{"10001", 10, 8, 8}, {"10002", 1, 1, 1}}}
	for name, c := range map[string]struct {
		sold, restocked int64
		says            string
	}{
		"none of it was done": {6, 0, ""},
		"all of it was done":  {8, 3, ""},
		"more than was asked": {9, 3, "units sold: 9 in the rows instead of 6 to 8"},
		"less than was told":  {5, 0, "units sold: 5"},
		"a return too many":   {6, 4, "units restocked: 4 in the rows instead of 0 to 3"},
	} {
		tally := newTally(2)
		tally.Interrupted = true // before the second SKU was created
		tally.Units[0] = Units{Sold: 6, UnheardSold: 2, UnheardRestocked: 3}
		rows := stock.Audit{SKUs: []stock.Balance{{
			SKU: "run-10001", Initial: 8, Restocked: c.restocked, Committed: c.sold, Available: 8 + c.restocked - c.sold,
		}}}
		got := Compare(plan, prefix, tally, rows)
		if got.OK() != (c.says == "") || !strings.Contains(strings.Join(got.Problems, "\n"), c.says) {
			t.Errorf("%s: %q", name, got.Problems)
		}
	}
}
