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

// The one that has not called for longest is forgotten: who calls on is limited, however many call.
func TestCallersAreForgotten(t *testing.T) {
	t.Parallel()
	l := limiter(t, 1, 1)
	l.Take("first", noon)
	l.Take("busy", noon)
	for i := range mostCallers {
		l.Take(strconv.Itoa(i), noon)
		if l.Take("busy", noon).OK {
			t.Fatal("a caller that calls on was forgotten")
		}
	}
	if n := l.buckets.Len(); n > mostCallers {
		t.Errorf("%d callers are known", n)
	}
	if !l.Take("first", noon).OK {
		t.Error("the first caller is still known")
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
