package access

import (
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

func limiter(t *testing.T, perSecond float64, burst int) *Limiter {
	t.Helper()
	l, err := NewLimiter(perSecond, burst)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

func TestLimit(t *testing.T) {
	t.Parallel()
	l := limiter(t, 2, 4)
	if l.Policy() != `"default";q=4;w=2` {
		t.Errorf("policy %s", l.Policy())
	}
	for i, want := range []Verdict{
		{OK: true, Left: 3, Full: time.Second / 2},
		{OK: true, Left: 2, Full: time.Second},
		{OK: true, Left: 1, Full: 3 * time.Second / 2},
		{OK: true, Left: 0, Full: 2 * time.Second},
		{Full: 2 * time.Second, Retry: time.Second / 2},
		{Full: 2 * time.Second, Retry: time.Second / 2}, // a refused request costs nothing
	} {
		if got := l.Take("a", noon); got != want {
			t.Errorf("request %d: %+v, want %+v", i+1, got, want)
		}
	}
	if got := l.Take("b", noon); !got.OK || got.Left != 3 {
		t.Errorf("another caller: %+v", got)
	}
	if got := l.Take("a", noon.Add(time.Second/2)); !got.OK || got.Left != 0 {
		t.Errorf("half a second later: %+v", got)
	}
	if got := l.Take("a", noon.Add(time.Hour)); !got.OK || got.Left != 3 {
		t.Errorf("an hour later: %+v", got)
	}
}

func TestTakeSomeTakesWhatIsLeft(t *testing.T) {
	t.Parallel()
	l := limiter(t, 2, 4)
	for i, c := range []struct {
		wanted, taken int
		want          Verdict
	}{
		{0, 0, Verdict{OK: true, Left: 4}},
		{3, 3, Verdict{OK: true, Left: 1, Full: 3 * time.Second / 2}},
		{2, 1, Verdict{Full: 2 * time.Second, Retry: time.Second / 2}},
		{1000, 0, Verdict{Full: 2 * time.Second, Retry: time.Second / 2}},
		{0, 0, Verdict{OK: true, Full: 2 * time.Second}},
	} {
		if taken, got := l.TakeSome("a", c.wanted, noon); taken != c.taken || got != c.want {
			t.Errorf("%d: took %d of %d, %+v; want %d, %+v", i, taken, c.wanted, got, c.taken, c.want)
		}
	}
	if taken, _ := l.TakeSome("a", 9, noon.Add(time.Hour)); taken != 4 {
		t.Errorf("an hour later it took %d", taken)
	}
}

func TestTakeSomeAtTheSameTime(t *testing.T) {
	t.Parallel()
	l := limiter(t, 0.001, 1000)
	var took atomic.Int64
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 100 {
				taken, _ := l.TakeSome("a", 3, time.Now())
				took.Add(int64(taken))
			}
		})
	}
	wg.Wait()
	if took.Load() != 1000 {
		t.Errorf("took %d of 1000", took.Load())
	}
}

// A caller at any interval is limited as if the limiter forgot no caller.
func TestForgettingChangesNothing(t *testing.T) {
	t.Parallel()
	for _, pause := range []time.Duration{time.Millisecond, 300 * time.Millisecond, 900 * time.Millisecond, 1100 * time.Millisecond, 3 * time.Second} {
		l, kept := limiter(t, 4, 4), limiter(t, 4, 4)
		kept.fill = 1 << 60 // forgets nobody
		for at := time.Duration(0); at < 10*time.Second; at += pause {
			for range 3 {
				if got, want := l.Take("a", noon.Add(at)), kept.Take("a", noon.Add(at)); got != want {
					t.Fatalf("pause %v, at %v: %+v, want %+v", pause, at, got, want)
				}
			}
		}
	}
}

func TestCallersAreForgotten(t *testing.T) {
	t.Parallel()
	l := limiter(t, 10, 10) // full after a second
	l.most = 100
	for i := range 10_000 {
		l.Take(strconv.Itoa(i), noon)
		if len(l.now)+len(l.before) > 2*l.most {
			t.Fatalf("%d callers are known", len(l.now)+len(l.before))
		}
	}
	l.Take("a", noon.Add(5*time.Second))
	if n := len(l.now) + len(l.before); n != 1 {
		t.Errorf("%d callers are known after 5 s", n)
	}
}

func TestLimitHoldsAgainstMany(t *testing.T) {
	t.Parallel()
	l := limiter(t, 1, 50)
	var let atomic.Int64
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 100 {
				if l.Take("a", noon).OK {
					let.Add(1)
				}
			}
		})
	}
	wg.Wait()
	if let.Load() != 50 {
		t.Errorf("%d of 800 were let through, not 50", let.Load())
	}
}

func TestLimitsThatMakeNoSense(t *testing.T) {
	t.Parallel()
	nan, huge := 0.0, 1e300
	nan /= nan * 0
	for _, perSecond := range []float64{0, -1, nan, huge, huge * huge} {
		if _, err := NewLimiter(perSecond, 1); err == nil {
			t.Errorf("%v requests per second are taken", perSecond)
		}
	}
	if _, err := NewLimiter(1, -1); err == nil {
		t.Error("a burst of -1 is taken")
	}
	if l := limiter(t, 0.1, 0); l.burst != 1 || l.Policy() != `"default";q=1;w=10` {
		t.Errorf("a tenth of a request per second: %s", l.Policy())
	}
}
