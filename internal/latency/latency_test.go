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
	other.Record(time.Hour) // beyond the longest latency that has its own bucket
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

func TestHistogramAsText(t *testing.T) {
	t.Parallel()
	sent, got := New(), New()
	sent.Record(3 * time.Millisecond)
	text, err := sent.MarshalText()
	if err != nil {
		t.Fatal(err)
	}
	if err := got.UnmarshalText(text); err != nil {
		t.Fatal(err)
	}
	got.Record(5 * time.Millisecond)
	if got.Count() != 2 || got.Quantile(50) != sent.Max() {
		t.Errorf("%d times, p50 %v; sent %v", got.Count(), got.Quantile(50), sent.Max())
	}
	if err := got.UnmarshalText([]byte("no histogram")); err == nil {
		t.Error("nonsense is no error")
	}
}
