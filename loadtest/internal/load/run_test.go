package load

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"

	"inventory/internal/busytest"
	"inventory/internal/latency"
	"inventory/loadtest/internal/history"
)

func TestTimesOfEvenSpacing(t *testing.T) {
	t.Parallel()
	const ms = time.Millisecond
	for name, c := range map[string]struct {
		phases []Phase
		want   []time.Duration
	}{
		"nothing":  {nil, nil},
		"constant": {[]Phase{{"", 4, time.Second}}, []time.Duration{125 * ms, 375 * ms, 625 * ms, 875 * ms}},
		// The rest of a step is carried over: the second phase begins half a step after its last request was due.
		"two":    {[]Phase{{"", 2, 500 * ms}, {"", 10, 200 * ms}}, []time.Duration{250 * ms, 550 * ms, 650 * ms}},
		"silent": {[]Phase{{"", 0, time.Second}, {"", 2, time.Second}}, []time.Duration{1250 * ms, 1750 * ms}},
	} {
		got := Times(1, Even, c.phases)
		if !slices.EqualFunc(got, c.want, func(a, b time.Duration) bool { return (a - b).Abs() < time.Microsecond }) {
			t.Errorf("%s: %v instead of %v", name, got, c.want)
		}
	}
}

func TestTimesOfAnyPhases(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		seed, spacing := rapid.Uint64().Draw(t, "seed"), rapid.SampledFrom([]Spacing{Even, Poisson}).Draw(t, "spacing")
		phases := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Phase {
			return Phase{
				Rate:   rapid.Float64Range(0, 2000).Draw(t, "rate"),
				Length: time.Duration(rapid.Int64Range(1, int64(2*time.Second)).Draw(t, "length")),
			}
		}), 1, 5).Draw(t, "phases")
		at := Times(seed, spacing, phases)
		if !slices.IsSorted(at) || len(at) > 0 && (at[0] < 0 || at[len(at)-1] >= Length(phases)) {
			t.Fatalf("not in order, or outside of %v: %v", Length(phases), at)
		}
		// The number of a Poisson process has the variance of its mean; ten deviations are never seen.
		expected := Expected(phases)
		allowed := 1.0
		if spacing == Poisson {
			allowed = 10*math.Sqrt(expected) + 10
		}
		if math.Abs(float64(len(at))-expected) > allowed {
			t.Fatalf("%d requests, where %.1f are expected", len(at), expected)
		}
		if !slices.Equal(at, Times(seed, spacing, phases)) {
			t.Fatal("the same arguments have other times")
		}
	})
}

// TestPoissonStepsAreExponential compares the steps with their distribution, by the greatest distance of the two
// (Kolmogorov and Smirnov), which is above 3/√n once in ten million.
func TestPoissonStepsAreExponential(t *testing.T) {
	t.Parallel()
	const rate = 1000.
	phases := []Phase{{"", rate, 20 * time.Second}}
	at := Times(7, Poisson, phases)
	if slices.Equal(at, Times(8, Poisson, phases)) {
		t.Error("two seeds have the same times")
	}
	steps := make([]float64, len(at))
	last := time.Duration(0)
	for i, planned := range at {
		steps[i], last = (planned - last).Seconds(), planned
	}
	slices.Sort(steps)
	n, farthest := float64(len(steps)), 0.
	for i, step := range steps {
		farthest = max(farthest, math.Abs(float64(i)/n-(1-math.Exp(-rate*step))))
	}
	if farthest > 3/math.Sqrt(n) {
		t.Errorf("%d steps are %.4f away from an exponential distribution", len(steps), farthest)
	}
}

const ms = time.Millisecond

// slow is a service of which each answer takes a while, of virtual time.
type slow struct {
	takes  func(asked int) time.Duration
	status int
	err    error
	asked  atomic.Int64
}

func (s *slow) ask(string, Request, time.Time, bool) (int, []byte, error) {
	time.Sleep(s.takes(int(s.asked.Add(1)) - 1))
	return s.status, nil, s.err
}

func always(takes time.Duration) func(int) time.Duration {
	return func(int) time.Duration { return takes }
}

// orders are n, each of its own.
func orders(n int) (all []history.Operation) {
	for range n {
		all = append(all, history.Operation{Kind: history.Deduct, ID: "o", Lines: []history.Line{{SKU: "hot", Quantity: 1}}})
	}
	return all
}

// play sends a load over that many connections in virtual time.
func play(ctx context.Context, at []time.Duration, maxLag time.Duration, connections int, to *slow) *Result {
	s := &Services{Config: Config{URLs: []string{"x"}, URL: func(int) string { return "" }, Connections: connections, MaxLag: maxLag}, ask: to.ask}
	return s.Run(ctx, Load{Start: time.Now(), At: at, Operations: orders(len(at))})
}

// TestLatencyCountsFromThePlannedTime asks twice as much as one connection can send: each request waits 5 ms longer than the
// one before, and what would wait for more than 20 ms is dropped.
func TestLatencyCountsFromThePlannedTime(t *testing.T) {
	t.Parallel()
	busytest.Virtual(t, func(t *testing.T) {
		at := Times(1, Even, []Phase{{"", 200, 60 * ms}}) // at 2.5, 7.5, 12.5 … 57.5 ms
		r := play(t.Context(), at, 20*ms, 1, &slow{takes: always(10 * ms), status: http.StatusCreated})
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
		all, own := r.Lags(0, Forever)
		if all.Max() < 20*ms || own.Max() > time.Microsecond || own.Count() != 1 {
			t.Errorf("lag up to %v, own up to %v of %d", all.Max(), own.Max(), own.Count())
		}
		// Dropped requests have waited, too: all twelve are in the percentiles.
		if waits := r.Latencies(0, Forever); waits.Count() != 12 || waits.Quantile(99) < 25*ms {
			t.Errorf("%d waited, p99 %v", waits.Count(), waits.Quantile(99))
		}
	})
}

// TestAStallIsSeenByAllWhoCameInIt has two connections stall for 100 ms. Twenty requests are due while they do.
func TestAStallIsSeenByAllWhoCameInIt(t *testing.T) {
	t.Parallel()
	busytest.Virtual(t, func(t *testing.T) {
		at := Times(1, Even, []Phase{{"", 200, time.Second}})
		r := play(t.Context(), at, time.Second, 2, &slow{status: http.StatusCreated, takes: func(asked int) time.Duration {
			if asked == 50 || asked == 51 {
				return 100 * ms
			}
			return ms
		}})
		late, served := 0, latency.New()
		for i := range at {
			if r.Latency(i) > 5*ms {
				late++
			}
			served.Record(r.Replies[i].Over - r.Replies[i].Sent)
		}
		if p90 := r.Latencies(0, Forever, Accepted).Quantile(90); late < 18 || late > 26 || p90 < 10*ms {
			t.Errorf("%d were late, p90 %v", late, p90)
		}
		if p := served.Quantile(98); p > 2*ms { // what a closed loop would report: 2 of 200 are the stall
			t.Errorf("from the send, p98 is %v", p)
		}
	})
}

func TestAnEndOfTheContextStopsSending(t *testing.T) {
	t.Parallel()
	busytest.Virtual(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 50*ms)
		defer cancel()
		at := Times(1, Even, []Phase{{"", 100, time.Second}}) // at 5, 15 … ms
		r := play(ctx, at, time.Second, 1, &slow{takes: always(7 * ms), status: http.StatusOK})
		c := r.Counts(0, Forever)
		if c[Replayed] != 5 || c[NotSent] != 95 || r.Elapsed != 52*ms {
			t.Errorf("%v after %v", c, r.Elapsed)
		}
		if slots := r.Slots(10 * ms); len(slots) != 6 || slots[5].Answers[Replayed] != 1 {
			t.Errorf("slots: %+v", slots)
		}
	})
}

func TestUnheardRequestIsUnknown(t *testing.T) {
	t.Parallel()
	busytest.Virtual(t, func(t *testing.T) {
		broken := errors.New("broken")
		r := play(t.Context(), []time.Duration{ms}, time.Second, 1, &slow{takes: always(ms), err: broken})
		if err := r.FirstError(Unknown); r.Replies[0].Outcome != Unknown || !errors.Is(err, broken) {
			t.Errorf("%+v, %v", r.Replies[0], err)
		}
		r = play(t.Context(), []time.Duration{ms}, time.Second, 1, &slow{takes: always(ms), status: http.StatusNotFound})
		if r.FirstError(Failed, Unknown) != nil || r.FirstError(Refused) == nil {
			t.Errorf("a refusal is a fault: %v", r.FirstError(Failed, Unknown))
		}
	})
}

func TestSlots(t *testing.T) {
	t.Parallel()
	r := Result{
		Load:    Load{At: []time.Duration{10 * ms, 90 * ms, 110 * ms, 120 * ms}},
		Elapsed: 250 * ms,
		Replies: []Reply{
			{Sent: 10 * ms, Over: 20 * ms, Outcome: Accepted},
			{Sent: 95 * ms, Over: 130 * ms, Outcome: SoldOut},
			{Sent: 110 * ms, Over: 250 * ms, Outcome: Unknown},
			{Over: 230 * ms, Outcome: Dropped},
		},
	}
	want := []Slot{
		{0, 2, Counts{Accepted: 1}, 10, 40},
		{100 * ms, 2, Counts{SoldOut: 1}, 110, 140}, // for requests without an answer: when the caller gave up
		{200 * ms, 0, Counts{Unknown: 1, Dropped: 1}, math.NaN(), math.NaN()},
	}
	got := r.Slots(100 * ms)
	for n, slot := range got {
		if got, want := fmt.Sprint(slot), fmt.Sprint(want[n]); got != want {
			t.Errorf("slot %d: %s instead of %s", n, got, want)
		}
	}
	if len(got) != len(want) {
		t.Errorf("%d slots", len(got))
	}
	if c := r.Counts(90*ms, 120*ms); c != (Counts{SoldOut: 1, Unknown: 1}) || c.Answered() != 1 {
		t.Errorf("counts: %v", c)
	}
	for all, want := range map[time.Duration]time.Duration{time.Second: 100 * ms, time.Minute: 300 * ms, time.Hour: 18 * time.Second} {
		if got := Width(all); got != want {
			t.Errorf("slots of %v for %v", got, all)
		}
	}
}

// TestAGeneratorThatDidNotKeepUpIsTold has a hundred requests, all due at the start.
func TestAGeneratorThatDidNotKeepUpIsTold(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		reply Reply
		says  []string
	}{
		"in time":      {Reply{Sent: ms, Over: 500 * ms, Outcome: Accepted}, nil},
		"late":         {Reply{Sent: 20 * ms, Over: 30 * ms, Outcome: Accepted}, []string{"the generator did not keep up: 1% of its sends were 20 ms late"}},
		"queued a bit": {Reply{Sent: 20 * ms, Over: 30 * ms, Outcome: Accepted, Queued: true}, nil},
		"all busy":     {Reply{Sent: 80 * ms, Over: 90 * ms, Outcome: Accepted, Queued: true}, []string{"because all connections were busy"}},
		"dropped":      {Reply{Over: time.Second, Outcome: Dropped, Queued: true}, []string{"100 requests were dropped"}},
	} {
		r := &Result{Load: Load{At: make([]time.Duration, 100)}, Replies: slices.Repeat([]Reply{c.reply}, 100)}
		got := r.Warnings("")
		if len(got) != len(c.says) || len(got) > 0 && !strings.Contains(got[0], c.says[0]) {
			t.Errorf("%s: %q, want %q", name, got, c.says)
		}
	}
}

// TestDroppedRequestsAreInTheTable has ninety answered at once, and ten dropped after a second.
func TestDroppedRequestsAreInTheTable(t *testing.T) {
	t.Parallel()
	r := &Result{Load: Load{At: make([]time.Duration, 100)}}
	for i := range r.At {
		r.Replies = append(r.Replies, Reply{Sent: ms, Over: 2 * ms, Outcome: Accepted})
		if i >= 90 {
			r.Replies[i] = Reply{Over: time.Second, Outcome: Dropped}
		}
	}
	rows := r.OutcomeSection().Table.Rows
	if all := rows[len(rows)-1]; len(rows) != 3 || rows[0][5] != "2" || all[1] != "100" || all[3] != "2" || !strings.HasPrefix(all[5], "1,00") {
		t.Errorf("%q", rows)
	}
}
