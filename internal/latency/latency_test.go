package latency

import (
	"testing"
	"time"
)

func TestHistogram(t *testing.T) {
	t.Parallel()
	h, other := New(), New()
	for n := range 99 {
		h.Record(time.Duration(n+1) * time.Millisecond)
	}
	other.Record(time.Hour) // beyond what is told apart
	other.Record(0)
	h.Add(other)
	if h.Count() != 101 {
		t.Errorf("%d times", h.Count())
	}
	for _, c := range []struct{ got, want time.Duration }{
		{h.Quantile(50), 50 * time.Millisecond}, {h.Quantile(99), 99 * time.Millisecond}, {h.Max(), longest},
	} {
		if c.got < c.want*999/1000 || c.got > c.want*1001/1000 {
			t.Errorf("%v instead of %v", c.got, c.want)
		}
	}
}
