package selling

import (
	"testing"
	"time"
)

func TestGatheringPaysWhereOrdersComeFast(t *testing.T) {
	for _, c := range []struct {
		name         string
		came, orders int
		spent, took  time.Duration
		want         bool
	}{
		{"callers who only order", 40, 90, 80 * time.Microsecond, 2 * time.Millisecond, true},
		{"callers who do much between two orders", 30, 160, time.Millisecond, 6 * time.Millisecond, false},
		{"nobody", 0, 90, time.Microsecond, 2 * time.Millisecond, false},
		{"fewer than lanes beside took", -100, 90, time.Microsecond, 2 * time.Millisecond, false},
	} {
		if got := pays(c.came, c.spent, c.orders, c.took); got != c.want {
			t.Errorf("%s: %t, want %t", c.name, got, c.want)
		}
	}
}

// TestGatheringPauses spends no time where it has not paid.
func TestGatheringPauses(t *testing.T) {
	l := &worker{queue: newQueue(), coalescing: coalescer{orders: 100, took: time.Millisecond, pause: 1}}
	l.coalesce()
	if l.coalescing.orders != 100 || l.coalescing.pause != 0 {
		t.Errorf("it gathered in a pause: %+v", l.coalescing)
	}
	if l.coalesce(); l.coalescing.orders != 0 {
		t.Errorf("it did not gather after a pause: %+v", l.coalescing)
	}
}
