package sqlite

import (
	"strings"
	"testing"

	"inventory/internal/stock/stocktest"
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
	if err := store.ListOrders(t.Context(), true); err != nil {
		t.Fatal(err)
	}
	const byExpiry, byID = "deductions_by_expiry (sku_id", "PRIMARY KEY (sku_id=? AND order_id=?)"
	const behind, between = "PRIMARY KEY (sku_id=? AND order_id>?)", "PRIMARY KEY (sku_id=? AND order_id>? AND order_id<?)"
	for name, c := range map[string]struct {
		args []any
		by   string
	}{
		"end_expired":        {[]any{"a", "[]"}, byID},
		"has_expired":        {[]any{"a", 1, 1}, byExpiry},
		"expired":            {[]any{"a", 1, 1}, byExpiry},
		"next_expiry":        {[]any{"a", 1, 1, 1}, byExpiry},
		"statuses":           {[]any{"a", "", 1, 1, 1, nil}, byExpiry},
		"skus_with_expired":  {[]any{1, 1, 1}, "deductions_by_end (expires_at>? AND expires_at<?)"},
		"deductions_by_id":   {[]any{"a", "[]"}, byID},
		"placed_order":       {[]any{"a"}, byID},
		"deduction":          {[]any{"a", "o"}, byID},
		"update_deductions":  {[]any{"a", "[]", "[]", "[]", "[]", "[]", "[]", "[]", "[]", 1}, byID},
		"retake":             {[]any{"a", "o", 1, 1, 1, true}, byID},
		"dates":              {[]any{"a", "o"}, byID},
		"amendments_of":      {[]any{"a", "o"}, "PRIMARY KEY (sku_id=? AND order_id=?)"},
		"amendments":         {[]any{"a", "[]", "[]"}, "PRIMARY KEY (sku_id=? AND order_id=? AND ref=?)"},
		"lock_whole":         {[]any{"a", "[]"}, byID},
		"parts":              {[]any{"a", "[]"}, byID},
		"delete_parts":       {[]any{"a", "[]"}, byID},
		"buyer_units":        {[]any{"a", "[]"}, "PRIMARY KEY (sku_id=? AND buyer_id=?)"},
		"being_counted":      {[]any{9}, "skus_being_counted"},
		"lock_miscounted":    {[]any{"a", "b", "c", true, 9}, between},
		"mark_counted":       {[]any{"a", "[]", true}, byID},
		"prunable":           {[]any{"a", "[]", 1}, byID},
		"fold_sum":           {[]any{"a", "[]"}, byID},
		"forget_buyers":      {[]any{"a", "[]"}, "PRIMARY KEY (sku_id=? AND buyer_id=?)"},
		"delete_deductions":  {[]any{"a", "[]"}, byID},
		"delete_amendments":  {[]any{"a", "[]"}, byID},
		"delete_lines":       {[]any{"a", "[]"}, "PRIMARY KEY (order_id=? AND sku_id=?)"},
		"delete_own_orders":  {[]any{"[]"}, "PRIMARY KEY (order_id=?)"},
		"orders_to_mark":     {[]any{"a", "[]"}, "PRIMARY KEY (order_id=?)"},
		"mark_orders":        {[]any{"[]", "[]"}, "PRIMARY KEY (order_id=?)"},
		"page_end":           {[]any{"a", "b", 9}, behind},
		"page":               {[]any{"a", "b", "c", "", "reserved", "", 9}, between},
		"own_to_forget":      {[]any{"a", "b", "c", 9}, between},
		"to_forget":          {[]any{"a", "b", "c", "d", 9}, between},
		"lines_end":          {[]any{1, "a", "b", 2, 9}, "deductions_by_time (created_at>? AND created_at<?)"},
		"lines":              {[]any{1, "a", "b", 2, "a", "b", "", "", "", 9}, "deductions_by_time (created_at>? AND created_at<?)"},
		"lines_of_buyer_end": {[]any{1, "a", "b", 2, 9, "ann"}, "deductions_of_buyers (buyer_id=? AND created_at>? AND created_at<?)"},
		"lines_of_buyer":     {[]any{1, "a", "b", 2, "a", "b", "", "", "", 9, "ann"}, "deductions_of_buyers (buyer_id=? AND created_at>? AND created_at<?)"},
		"orders_of_buyer":    {[]any{"a", "b", "", true, 9}, "deductions_by_buyer (sku_id=? AND buyer_id=?)"},
	} {
		t.Run(name, func(t *testing.T) {
			used := false
			for _, step := range plan(t, store, name, c.args...) {
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
func plan(t *testing.T, store *Store, name string, args ...any) (steps []string) {
	t.Helper()
	rows, err := store.reader.QueryContext(t.Context(), "EXPLAIN QUERY PLAN "+store.reader.statements.Of(name).Text, args...)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var id, parent, unused int
		var step string
		if err := rows.Scan(&id, &parent, &unused, &step); err != nil {
			t.Fatal(err)
		}
		steps = append(steps, step)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return steps
}
