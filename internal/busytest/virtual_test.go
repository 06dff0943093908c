package busytest

import (
	"runtime"
	"testing"
)

// Two timers of one test in virtual time never run at once.
func TestVirtualTimeHasOneProcessor(t *testing.T) {
	before := runtime.GOMAXPROCS(4)
	defer runtime.GOMAXPROCS(before)
	Virtual(t, func(t *testing.T) {
		if n := runtime.GOMAXPROCS(0); n != 1 {
			t.Errorf("%d processors run goroutines in virtual time", n)
		}
	})
}
