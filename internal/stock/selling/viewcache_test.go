package selling

import (
	"strconv"
	"testing"
	"time"

	"inventory/internal/stock"
)

// TestTheYoungestViewStays: a worker that was idle for a second knows less than an order of several SKUs that has looked since. What it
// knows was not read at one instant, so nothing is refused by it. Of units that have come back since, no view knows.
func TestTheYoungestViewStays(t *testing.T) {
	t.Parallel()
	c, now := viewCache{bySKU: make(map[string]*cachedView)}, time.Now().Add(-time.Hour)
	line := []stock.Line{{SKU: "a", Quantity: 3}}
	for n, step := range []struct {
		what  string
		units int64 // 0: units come back
		read  bool
		at    int // the order of these instants
		want  int64
		has   bool
	}{
		{"a worker is forgotten", 5, false, 1, 5, false},
		{"the SKU is read", 4, true, 3, 4, true},
		{"an older worker is forgotten", 9, false, 2, 4, true},
		{"an older read comes late", 9, true, 2, 4, true},
		{"a younger worker is forgotten", 3, false, 4, 3, false},
		{"units come back", 0, false, 0, 0, false},
		{"a read that began before is done", 3, true, 5, 0, true},
		{"a worker that wrote before is forgotten", 3, false, 6, 0, false},
		{"the SKU is read again", 8, true, 1 << 20, 8, true},
	} {
		if step.units == 0 {
			c.refill("a", "b")
		} else {
			c.note("a", stock.View{Segments: []int64{0, step.units}}, now.Add(time.Duration(step.at)*time.Second), step.read)
		}
		units := int64(0)
		if view, is := c.view("a"); is {
			units = view.Segments[1]
		}
		if has := c.has(line, 2*time.Hour); units != step.want || has != step.has {
			t.Errorf("step %d, %s: a worker begins with %d units, a read has enough: %v; want %d, %v", n, step.what, units, has, step.want, step.has)
		}
	}
}

// TestAWorkerThatMissedUnitsRemembersNothing: it was told of units that came back, and was forgotten before it read the SKU.
func TestAWorkerThatMissedUnitsRemembersNothing(t *testing.T) {
	t.Parallel()
	s := &Service{viewed: viewCache{bySKU: make(map[string]*cachedView)}}
	w := &worker{service: s, sku: "a", queue: newQueue()}
	w.know(stock.View{Segments: []int64{1}})
	w.ready = time.Now()
	w.notifications.Add(1)
	w.remember()
	if view, is := s.viewed.view("a"); is {
		t.Errorf("the next worker begins with %+v", view)
	}
	w.onNotification()
	w.know(stock.View{Segments: []int64{2}})
	w.remember()
	if view, is := s.viewed.view("a"); !is || view.Segments[0] != 2 {
		t.Errorf("the next worker begins with %+v, %v, want the two units that the last one has read", view, is)
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

// TestViewsTakeBoundedRoom: views of SKUs with many segments take the place of more others.
func TestViewsTakeBoundedRoom(t *testing.T) {
	t.Parallel()
	c, large := viewCache{bySKU: make(map[string]*cachedView)}, make([]int64, stock.MaxSegments)
	for n := range 2 * mostViewed / stock.MaxSegments {
		c.learn(map[string]stock.View{strconv.Itoa(n): {Segments: large}, "small": {Segments: large[:1]}}, time.Now())
	}
	size := 0
	for _, one := range c.bySKU {
		size += one.size()
	}
	if size > mostViewed || size != c.size || size < mostViewed-2*(stock.MaxSegments+viewCosts) {
		t.Errorf("the views have room for %d segments, counted as %d, want a little less than %d", size, c.size, mostViewed)
	}
}
