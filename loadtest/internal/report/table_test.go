package report

import "testing"

func TestTables(t *testing.T) {
	t.Parallel()
	table := Table{Columns: []string{"", "per second"}, Rows: [][]string{{"one", Number(12345.6)}, {"two", Number(0.123456)}}}
	if got := table.Text(); got != "       per second\n  one      12,346\n  two       0.123\n" {
		t.Errorf("%q", got)
	}
}
