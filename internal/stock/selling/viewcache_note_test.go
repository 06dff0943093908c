package selling

import (
	"testing"
	"time"

	"inventory/internal/stock"
)

// TestTheYoungestViewStays: a worker that was idle for a second knows less than an order of several SKUs that has looked since. What it
// knows was not read at one instant, so nothing is refused by it.
func TestTheYoungestViewStays(t *testing.T) {
	t.Parallel()
	c, now := viewCache{bySKU: make(map[string]*cachedView)}, time.Now()
	line := []stock.Line{{SKU: "a", Quantity: 3}}
	for _, step := range []struct {
		what  string
		units int64
		at    time.Time
		read  bool
		want  int64
		has   bool
	}{
		{"a worker is forgotten", 5, now.Add(-time.Second), false, 5, false},
		{"the SKU is read", 4, now, true, 4, true},
		{"an older worker is forgotten", 9, now.Add(-time.Millisecond), false, 4, true},
		{"an older read comes late", 9, now.Add(-time.Millisecond), true, 4, true},
		{"a younger worker is forgotten", 3, now.Add(time.Millisecond), false, 3, false},
	} {
		c.note("a", stock.View{Segments: []int64{0, step.units}}, step.at, step.read)
		view, _ := c.view("a")
		if has := c.has(line, time.Hour); view.Segments[1] != step.want || has != step.has {
			t.Errorf("%s: %d units, there by a read: %v; want %d, %v", step.what, view.Segments[1], has, step.want, step.has)
		}
	}
}

// TestAViewIsNotShared: a worker counts down what it has got of it.
func TestAViewIsNotShared(t *testing.T) {
	t.Parallel()
	c := viewCache{bySKU: make(map[string]*cachedView)}
	levels := []int64{7}
	c.note("a", stock.View{Segments: levels}, time.Now(), true)
	levels[0] = 1
	first, _ := c.view("a")
	first.Segments[0] = 2
	if again, is := c.view("a"); !is || again.Segments[0] != 7 {
		t.Errorf("found: %v, %d units, want 7", is, again.Segments[0])
	}
}
