package sqlite

import (
	"strings"
	"testing"

	"inventory/internal/stock/stocktest"
	"inventory/internal/stock/tables"
)

// opened is a store on a new file, for tests of what is inside.
func opened(t *testing.T) *Store {
	t.Helper()
	store, err := Open(t.Context(), stocktest.SQLiteFile(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	return store
}

// TestNoStatementReadsAllDeductions checks SQLite's plans: a SKU may have millions of deductions, nearly all of them
// neither reserved nor in the request.
func TestNoStatementReadsAllDeductions(t *testing.T) {
	store := opened(t)
	const byExpiry, byID = "deductions_by_expiry (sku_id", "PRIMARY KEY (sku_id=? AND order_id=?)"
	const behind, between = "PRIMARY KEY (sku_id=? AND order_id>?)", "PRIMARY KEY (sku_id=? AND order_id>? AND order_id<?)"
	for name, c := range map[string]struct {
		statement string
		args      []any
		by        string
	}{
		"endExpired":        {endExpired, []any{"a", "[]"}, byID},
		"hasExpired":        {tables.HasExpired, []any{"a", 1}, byExpiry},
		"selectExpired":     {selectExpired, []any{"a", 1, 1}, byExpiry},
		"selectNextExpiry":  {tables.SelectNextExpiry, []any{"a"}, byExpiry},
		"selectSummaries":   {tables.SelectSummaries, []any{"", 1}, byExpiry},
		"selectStatus":      {tables.SelectStatus, []any{"a", 1}, byExpiry},
		"selectWithExpired": {tables.SelectWithExpired, []any{1, 1}, byExpiry},
		"selectByIDs":       {tables.SelectByIDs, []any{"a", "[]"}, byID},
		"selectLines":       {tables.SelectLines, []any{"a"}, byID},
		"selectDeduction":   {tables.SelectDeduction, []any{"a", "o"}, byID},
		"updateDeductions":  {tables.UpdateDeductions, []any{"a", "[]", "[]", "[]", "[]"}, byID},
		"updateAmended":     {tables.UpdateAmended, []any{"a", "[]", "[]", "[]", "[]", "[]", "[]"}, byID},
		"selectAmendments":  {tables.SelectAmendments, []any{"a", "[]", "[]"}, "PRIMARY KEY (sku_id=? AND order_id=? AND ref=?)"},
		"lockWhole":         {tables.LockWhole, []any{"a", "[]"}, byID},
		"selectParts":       {tables.SelectParts, []any{"a", "[]"}, byID},
		"deleteParts":       {tables.DeleteParts, []any{"a", "[]"}, byID},
		"selectBuyerUnits":  {tables.SelectBuyerUnits, []any{"a", "[]"}, "PRIMARY KEY (sku_id=? AND buyer_id=?)"},
		"uncountReturned":   {tables.UncountBuyers, []any{"a", "[]", "[]"}, "PRIMARY KEY (sku_id=? AND buyer_id=?)"},
		"selectPrunable":    {tables.SelectPrunable, []any{"a", "[]", 1}, byID},
		"foldSum":           {tables.FoldSum, []any{"a", "[]"}, byID},
		"forgetBuyers":      {tables.ForgetBuyers, []any{"a", "[]"}, "PRIMARY KEY (sku_id=? AND buyer_id=?)"},
		"deleteDeductions":  {tables.DeleteDeductions, []any{"a", "[]"}, byID},
		"deleteAmendments":  {tables.DeleteAmendments, []any{"a", "[]"}, byID},
		"deleteLines":       {tables.DeleteLines, []any{"a", "[]"}, "PRIMARY KEY (order_id=? AND sku_id=?)"},
		"markOrders":        {tables.MarkOrders, []any{"a", "[]"}, "PRIMARY KEY (order_id=?)"},
		"selectScanEnd":     {tables.SelectScanEnd, []any{"a", "b", 9}, behind},
		"selectPage":        {tables.SelectPage, []any{"a", "b", "c", "", "reserved", 9}, between},
	} {
		t.Run(name, func(t *testing.T) {
			used := false
			for _, step := range plan(t, store, c.statement, c.args...) {
				used = used || strings.Contains(step, c.by)
				if strings.HasPrefix(step, "SCAN d") || (strings.Contains(step, " d") && strings.HasSuffix(step, "PRIMARY KEY (sku_id=?)")) {
					t.Errorf("it reads all of them: %s", step)
				}
			}
			if !used {
				t.Errorf("nothing is found by %s", c.by)
			}
		})
	}
}

// plan returns SQLite's plan for a statement, step by step.
func plan(t *testing.T, store *Store, statement string, args ...any) (steps []string) {
	t.Helper()
	err := store.reader.Each(t.Context(), func(row tables.Row) error {
		var id, parent, unused int
		var step string
		err := row.Scan(&id, &parent, &unused, &step)
		steps = append(steps, step)
		return err
	}, "EXPLAIN QUERY PLAN "+statement, args...)
	if err != nil {
		t.Fatal(err)
	}
	return steps
}
