package books

import (
	"slices"
	"testing"
)

func TestComplaintsAreToldByKind(t *testing.T) {
	t.Parallel()
	var c Complaints
	if told := c.Tell(); len(told) > 0 {
		t.Errorf("nothing was wrong: %q", told)
	}
	c.Add("orders have no row", "a")
	c.Add("rows have no order", "b")
	c.Add("orders have no row", "c")
	c.Say("3 units are missing")
	want := []string{"3 units are missing", "orders have no row: 2, the first a", "rows have no order: 1, the first b"}
	if told := c.Tell(); !slices.Equal(told, want) {
		t.Errorf("%q", told)
	}
}
