package selling

import (
	"testing"
	"time"
)

func TestCoalescingPaysWhereOrdersComeFast(t *testing.T) {
	for _, c := range []struct {
		name         string
		came, orders int
		spent, took  time.Duration
		want         bool
	}{
		{"callers who only order", 40, 90, 80 * time.Microsecond, 2 * time.Millisecond, true},
		{"callers who do much between two orders", 30, 160, time.Millisecond, 6 * time.Millisecond, false},
		{"nobody", 0, 90, time.Microsecond, 2 * time.Millisecond, false},
		{"fewer than extra workers took", -100, 90, time.Microsecond, 2 * time.Millisecond, false},
	} {
		if got := pays(c.came, c.spent, c.orders, c.took); got != c.want {
			t.Errorf("%s: %t, want %t", c.name, got, c.want)
		}
	}
}

// TestCoalescingPauses spends no time where it has not paid.
func TestCoalescingPauses(t *testing.T) {
	c := &coalescer{orders: 100, took: time.Millisecond, pause: 1}
	queue := newQueue()
	c.wait(queue)
	if c.orders != 100 || c.pause != 0 {
		t.Errorf("it coalesced in a pause: %+v", c)
	}
	if c.wait(queue); c.orders != 0 {
		t.Errorf("it did not coalesce after a pause: %+v", c)
	}
}
