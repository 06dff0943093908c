package replay

import (
	"strings"
	"testing"
)

func TestTheDocumentTellsEachOutcome(t *testing.T) {
	t.Parallel()
	plan, err := NewPlan(linesOf(t, "1 10001 2\n2 10001 2\n3 10001 2"), 0.5, false, "run-")
	if err != nil {
		t.Fatal(err)
	}
	s := newShop()
	d, err := s.replayed(t.Context(), t, plan)
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	if err := d.Print(&text); err != nil {
		t.Fatal(err)
	}
	for _, says := range []string{"3 order lines", "in 3 requests to a shop", "2 units sold", "requests a second", "insufficient stock", "audit: OK"} {
		if !strings.Contains(text.String(), says) {
			t.Errorf("no %q in\n%s", says, &text)
		}
	}
	if rows := d.Sections[0].Table.Rows; len(rows) != 3 || rows[0][0] != "accepted" || d.Figures[3].Value != 2 {
		t.Errorf("got outcomes %q and figures %+v, want accepted and 2 others, and 2 units sold", rows, d.Figures)
	}
}
