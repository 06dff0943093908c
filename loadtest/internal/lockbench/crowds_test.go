package lockbench

import (
	"math"
	"testing"
	"time"
)

// visitsAt makes visits from what happened when, in milliseconds.
func visitsAt(times ...[3]int) (visits []visit) {
	base := time.Unix(0, 0)
	at := func(ms int) time.Time { return base.Add(time.Duration(ms) * time.Millisecond) }
	for _, t := range times {
		visits = append(visits, visit{at(t[0]), at(t[1]), at(t[2])})
	}
	return visits
}

func TestIdle(t *testing.T) {
	t.Parallel()
	if got := idle(nil); !math.IsNaN(got) {
		t.Errorf("of nothing: %v", got)
	}
	// 1 ms and 3 ms while another caller waited, then 50 ms while none did.
	got := idle(visitsAt([3]int{100, 150, 160}, [3]int{0, 0, 10}, [3]int{1, 11, 20}, [3]int{2, 23, 100}))
	if got != 2 {
		t.Errorf("%v", got)
	}
}

func TestOvertaken(t *testing.T) {
	t.Parallel()
	inOrder := visitsAt([3]int{0, 0, 10}, [3]int{3, 10, 20}, [3]int{2, 20, 30}) // the last two came at once
	if got := overtaken(inOrder); got != 0 {
		t.Errorf("%d in order", got)
	}
	if got := overtaken(visitsAt([3]int{0, 0, 10}, [3]int{1, 30, 40}, [3]int{9, 20, 30}, [3]int{8, 10, 20})); got != 2 {
		t.Errorf("%d instead of 2", got)
	}
}
