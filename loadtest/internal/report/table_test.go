package report

import (
	"strings"
	"testing"
)

func TestTables(t *testing.T) {
	t.Parallel()
	table := Table{Columns: []string{"", "per second"}, Rows: [][]string{{"one", Number(12345.6)}, {"two", Number(0.123456)}}}
	if got := table.Markdown(); got != "|  | per second |\n|---|---:|\n| one | 12,346 |\n| two | 0.123 |\n" {
		t.Error(got)
	}
	var text strings.Builder
	if table.Print(&text); text.String() != "       per second\n  one      12,346\n  two       0.123\n" {
		t.Errorf("%q", text.String())
	}
}

// TestAWideTableFitsATerminal: it is in parts, each of which names its rows.
func TestAWideTableFitsATerminal(t *testing.T) {
	t.Parallel()
	wide, wider := strings.Repeat("5", 30), strings.Repeat("5", 35)
	for name, c := range map[string]struct {
		table Table
		want  string
	}{
		"by the names": {
			Table{Columns: []string{"", "a", "b", "c"}, Rows: [][]string{{"one", wider, wider, "7"}, {"two", "1", "2", "3"}}},
			"                                         a                                    b\n" +
				"  one  55555555555555555555555555555555555  55555555555555555555555555555555555\n" +
				"  two                                    1                                    2\n\n" +
				"       c\n  one  7\n  two  3\n",
		},
		"by numbers": {
			Table{Columns: []string{"", "at once", "a"}, Rows: [][]string{{wide, wide, wide}, {wide, "1", "2"}}},
			"                                                            at once\n" +
				"  1  555555555555555555555555555555  555555555555555555555555555555\n" +
				"  2  555555555555555555555555555555                               1\n\n" +
				"                                  a\n  1  555555555555555555555555555555\n" +
				"  2                               2\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var text strings.Builder
			if c.table.Print(&text); text.String() != c.want {
				t.Errorf("\n%s", text.String())
			}
		})
	}
}
