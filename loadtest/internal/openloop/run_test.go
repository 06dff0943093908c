package openloop

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"testing/synctest"
	"time"
)

const ms = time.Millisecond

// slow is a line over which each answer takes a time, of virtual time.
type slow struct {
	takes  func(asked int) time.Duration
	status int
	err    error
	asked  int
}

func (s *slow) ask(context.Context, Request, time.Duration) (answer, bool, error) {
	time.Sleep(s.takes(s.asked))
	s.asked++
	return answer{status: s.status}, true, s.err
}

func (*slow) close() {}

func always(takes time.Duration) func(int) time.Duration {
	return func(int) time.Duration { return takes }
}

// play sends a load over lines in virtual time.
func play(ctx context.Context, at []time.Duration, maxLag time.Duration, lines ...line) Result {
	s := &Sender{config: Config{MaxLag: maxLag}.withDefaults(), lines: lines}
	orders := NewOrders(OrdersConfig{Seed: 1, SKU: "hot", Least: 1, Most: 1}, len(at))
	return s.Run(ctx, Load{Start: time.Now(), At: at, Stream: orders})
}

// TestLatencyCountsFromThePlannedTime asks twice as much as one connection can send: each request waits 5 ms longer than the
// one before, and what would wait for more than 20 ms is dropped.
func TestLatencyCountsFromThePlannedTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		at := Times(1, Even, []Phase{{"", 200, 200, 60 * ms}}) // at 2.5, 7.5, 12.5 … 57.5 ms
		r := play(t.Context(), at, 20*ms, &slow{takes: always(10 * ms), status: http.StatusCreated})
		for i, want := range []Reply{
			{2500 * time.Microsecond, 12500 * time.Microsecond, Accepted, false},
			{12500 * time.Microsecond, 22500 * time.Microsecond, Accepted, true},
			{22500 * time.Microsecond, 32500 * time.Microsecond, Accepted, true},
			{32500 * time.Microsecond, 42500 * time.Microsecond, Accepted, true},
			{42500 * time.Microsecond, 52500 * time.Microsecond, Accepted, true}, // was due at 22.5
			{0, 52500 * time.Microsecond, Dropped, true},                         // was due at 27.5
		} {
			if r.Replies[i] != want {
				t.Errorf("request %d: %+v instead of %+v", i, r.Replies[i], want)
			}
		}
		if got := r.Latency(4); got != 30*ms {
			t.Errorf("a latency of %v", got)
		}
		all, own := r.Lags()
		if all.Max() < 20*ms || own.Max() > time.Microsecond || own.Count() != 1 {
			t.Errorf("lag up to %v, own up to %v of %d", all.Max(), own.Max(), own.Count())
		}
		if served := r.ServiceTimes(Accepted).Max(); served < 10*ms || served > 10*ms+10*time.Microsecond {
			t.Errorf("served in %v", served)
		}
	})
}

// TestAStallIsSeenByAllWhoCameInIt has two connections stall for 100 ms. Twenty requests are due while they do.
func TestAStallIsSeenByAllWhoCameInIt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		stall := func(asked int) time.Duration {
			if asked == 25 {
				return 100 * ms
			}
			return ms
		}
		at := Times(1, Even, []Phase{{"", 200, 200, time.Second}})
		r := play(t.Context(), at, time.Second,
			&slow{takes: stall, status: http.StatusCreated}, &slow{takes: stall, status: http.StatusCreated})
		late := 0
		for i := range at {
			if r.Latency(i) > 5*ms {
				late++
			}
		}
		if late < 18 || late > 26 || r.Latencies(Accepted).Quantile(90) < 10*ms {
			t.Errorf("%d were late, p90 %v", late, r.Latencies(Accepted).Quantile(90))
		}
		if p := r.ServiceTimes(Accepted).Quantile(98); p > 2*ms { // what a closed loop would say: 2 of 200 are the stall
			t.Errorf("from the send, p98 is %v", p)
		}
	})
}

func TestAnEndOfTheContextStopsSending(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 50*ms)
		defer cancel()
		at := Times(1, Even, []Phase{{"", 100, 100, time.Second}}) // at 5, 15 … ms
		r := play(ctx, at, time.Second, &slow{takes: always(7 * ms), status: http.StatusOK})
		c := r.All()
		if c[Replayed] != 5 || c[NotSent] != 95 || r.Elapsed != 52*ms {
			t.Errorf("%v after %v", c, r.Elapsed)
		}
		if slots := r.Slots(10 * ms); len(slots) != 6 || slots[5].Heard[Replayed] != 1 {
			t.Errorf("slots: %+v", slots)
		}
	})
}

func TestWhatIsNotHeardIsUnknown(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		broken := errors.New("broken")
		r := play(t.Context(), []time.Duration{ms}, 0, &slow{takes: always(ms), err: broken})
		if r.Replies[0].Outcome != Unknown || !errors.Is(r.FirstError, broken) {
			t.Errorf("%+v, %v", r.Replies[0], r.FirstError)
		}
	})
}

// TestARefusalIsNoFault: the first error is that of what failed, also where a refusal came before it.
func TestARefusalIsNoFault(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		broken := errors.New("broken")
		r := play(t.Context(), []time.Duration{ms, 2 * ms}, time.Second,
			&slow{takes: always(5 * ms), status: http.StatusNotFound}, &slow{takes: always(9 * ms), err: broken})
		if r.All()[Refused] != 1 || !errors.Is(r.FirstError, broken) || r.FirstRefusal == nil || errors.Is(r.FirstRefusal, broken) {
			t.Errorf("%v, first %v, refused %v", r.All(), r.FirstError, r.FirstRefusal)
		}
	})
}

func TestSlots(t *testing.T) {
	t.Parallel()
	r := Result{
		At:      []time.Duration{10 * ms, 90 * ms, 110 * ms, 120 * ms},
		Elapsed: 250 * ms,
		Replies: []Reply{
			{Sent: 10 * ms, Over: 20 * ms, Outcome: Accepted},
			{Sent: 95 * ms, Over: 130 * ms, Outcome: SoldOut},
			{Sent: 110 * ms, Over: 250 * ms, Outcome: Unknown},
			{Over: 230 * ms, Outcome: Dropped},
		},
	}
	want := []Slot{
		{0, 2, 2, Counts{Accepted: 1}, 10 * ms, 40 * ms, 5 * ms},
		{100 * ms, 2, 1, Counts{SoldOut: 1}, 0, 0, 0},
		{200 * ms, 0, 0, Counts{Unknown: 1, Dropped: 1}, 0, 0, 0},
	}
	got := r.Slots(100 * ms)
	for n, slot := range got {
		if slot != want[n] {
			t.Errorf("slot %d: %+v instead of %+v", n, slot, want[n])
		}
	}
	if len(got) != len(want) {
		t.Errorf("%d slots", len(got))
	}
	if c := r.Counts(90*ms, 120*ms); c != (Counts{SoldOut: 1, Unknown: 1}) || c.Sent() != 2 || c.Answered() != 1 {
		t.Errorf("counts: %v", c)
	}
	for all, want := range map[time.Duration]time.Duration{time.Second: 100 * ms, time.Minute: 300 * ms, time.Hour: 18 * time.Second} {
		if got := Width(all); got != want {
			t.Errorf("slots of %v for %v", got, all)
		}
	}
}
