package experiment

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"inventory/internal/busytest"
	"inventory/loadtest/internal/report"
)

const sold = "sold/s"

// machine is one that nobody has to himself: it becomes faster and slower as time goes by, and whoever plays after the idle
// contender has a good time.
type machine struct {
	random *rand.Rand
	speed  float64
	last   string
}

func (m *machine) contender(name string, speed float64) Contender {
	return Contender{Name: name, Play: func(_ context.Context, window time.Duration) (Sample, error) {
		time.Sleep(window)
		m.speed *= math.Exp(0.02 * m.random.NormFloat64())
		value := speed * m.speed * math.Exp(0.02*m.random.NormFloat64())
		if m.last == "idle" {
			value *= 1.04
		}
		m.last = name
		return Sample{sold: value}, nil
	}}
}

// TestSlowerContenderIsReported plays 40 times, in virtual time. A kernel that does not pair rounds calls nothing slower on such a
// machine, and one that keeps the order of contenders calls one of two equal ones faster.
func TestSlowerContenderIsReported(t *testing.T) {
	t.Parallel()
	slower, equal := Times(sold, "slower", "one"), Times(sold, "another", "one")
	found, undecided := 0, 0
	const times = 40
	for seed := range uint64(times) {
		busytest.Virtual(t, func(t *testing.T) {
			m := &machine{random: rand.New(rand.NewPCG(seed, 1)), speed: 1}
			r := Run(t.Context(), Case{
				Contenders:  []Contender{m.contender("idle", 1), m.contender("one", 100), m.contender("slower", 95), m.contender("another", 100)},
				Comparisons: []Ask{slower, equal},
			}, Rules{Seed: seed, WarmUp: time.Second, Window: 2 * time.Second, For: 5 * time.Minute, Narrow: 1.06})
			if s := slower(r); s.High < 1 && s.Low > 0.9 {
				found++
			}
			if e := equal(r); e.High >= 1 && e.Low <= 1 && e.High/e.Low < 1.07 {
				undecided++
			}
		})
	}
	t.Logf("slower %d times, undecided %d times", found, undecided)
	if least := times * 9 / 10; found < least || undecided < least {
		t.Errorf("of 40 seeds the slower one is told as slower %d times, and two equal ones as undecided %d times", found, undecided)
	}
}

// steady measures the same every time.
func steady(name string, value float64) Contender {
	return Contender{Name: name, Levels: []string{name}, Play: func(_ context.Context, window time.Duration) (Sample, error) {
		time.Sleep(window)
		return Sample{sold: value}, nil
	}}
}

func TestRoundsEnd(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		rules Rules
		want  int
	}{
		"in time":          {Rules{Window: time.Second, For: 21 * time.Second}, 10},
		"with the warm-up": {Rules{Window: time.Second, WarmUp: time.Second, For: 21 * time.Second}, 9},
		"at once":          {Rules{Window: time.Second}, 1},
		"narrow enough":    {Rules{Window: time.Second, For: time.Hour, Narrow: 1.01}, leastRounds},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			busytest.Virtual(t, func(t *testing.T) {
				told := 0
				c.rules.Progress = func(rounds int) { told = rounds }
				r := Run(t.Context(), Case{
					Contenders: []Contender{steady("a", 1), steady("b", 2)}, Comparisons: []Ask{Times(sold, "b", "a")},
				}, c.rules)
				if len(r.Rounds) != c.want || told != c.want || r.Narrow != (c.rules.Narrow > 0) {
					t.Errorf("%d rounds, %d told, narrow: %v", len(r.Rounds), told, r.Narrow)
				}
			})
		})
	}
}

// TestContendersHaveColoursAndCasesRows: two things that are compared in three cases make three rows in two colours, and a case that was not
// measured has no row.
func TestContendersHaveColoursAndCasesRows(t *testing.T) {
	t.Parallel()
	busytest.Virtual(t, func(t *testing.T) {
		c := Case{Factors: []string{"", "SKUs", "callers"}, Metrics: []Metric{{Name: sold, Exact: true}}}
		for n, levels := range [][]string{{"ours", "hot", "64"}, {"theirs", "hot", "64"}, {"ours", "hot", "512"}, {"theirs", "hot", "512"}, {"theirs", "many", "64"}} {
			one := steady(strings.Join(levels, " "), float64(n+1))
			if one.Levels = levels; levels[1] == "many" {
				one.Play = func(context.Context, time.Duration) (Sample, error) { return Sample{}, nil }
			}
			c.Contenders = append(c.Contenders, one)
		}
		plots := Run(t.Context(), c, Rules{Window: time.Second}).plots()
		if len(plots) != 1 || !slices.Equal(plots[0].Categories, []string{"hot, 64 callers", "hot, 512 callers"}) {
			t.Fatalf("got %+v", plots)
		}
		for n, want := range []struct {
			name   string
			values []float64
		}{{"ours", []float64{1, 3}}, {"theirs", []float64{2, 4}}} {
			if got := plots[0].Series[n]; got.Name != want.name || !slices.Equal(got.Y, want.values) {
				t.Errorf("got %+v, want %+v", got, want)
			}
		}
		c.Contenders = c.Contenders[:1]
		c.Contenders[0].Levels = []string{"alone"}
		if plots := Run(t.Context(), c, Rules{Window: time.Second}).plots(); !slices.Equal(plots[0].Categories, []string{"ours hot 64"}) || len(plots[0].Series) != 1 {
			t.Errorf("by name: got %+v", plots)
		}
	})
}

// TestRareMetricsAreShownIfThereAreAny: a column of zeros says nothing.
func TestRareMetricsAreShownIfThereAreAny(t *testing.T) {
	t.Parallel()
	busytest.Virtual(t, func(t *testing.T) {
		one := steady("one", 1)
		one.Levels = []string{"one"}
		one.Play = func(context.Context, time.Duration) (Sample, error) {
			return Sample{sold: 0, "lost": 0, "found": 2}, nil
		}
		c := Case{
			Factors: []string{""}, Metrics: []Metric{{Name: sold}, {Name: "lost", Sum: true, Rare: true}, {Name: "found", Sum: true, Rare: true}},
			Contenders: []Contender{one},
		}
		if columns := Run(t.Context(), c, Rules{Window: time.Second}).table().Columns; !slices.Equal(columns, []string{"", sold, "found"}) {
			t.Errorf("got %q", columns)
		}
	})
}

func TestTheSeedDecidesTheOrder(t *testing.T) {
	t.Parallel()
	order := func(seed uint64) string {
		var text strings.Builder
		var c Case
		for _, name := range []string{"a", "b", "c", "d"} {
			c.Contenders = append(c.Contenders, Contender{Name: name, Play: func(context.Context, time.Duration) (Sample, error) {
				text.WriteString(name)
				return nil, nil
			}})
		}
		Run(t.Context(), c, Rules{Seed: seed, WarmUp: 1})
		return text.String()
	}
	if a := order(1); a != order(1) || a == order(2) || len(a) != 8 || a[:4] == a[4:] {
		t.Errorf("%s, again %s, other %s", a, order(1), order(2))
	}
}

// TestMissingDataMeetsNothing has a contender fail, and one that sells nothing.
func TestMissingDataMeetsNothing(t *testing.T) {
	t.Parallel()
	busytest.Virtual(t, func(t *testing.T) {
		broken := Contender{Name: "broken", Levels: []string{"broken"}, Ours: true, Play: func(context.Context, time.Duration) (Sample, error) { return nil, errors.New("oh") }}
		target := func(of string, sign report.Sign, bound float64) Target {
			return Target{of, Times(sold, of, "good"), sign, bound}
		}
		c := Case{
			Contenders: []Contender{steady("good", 10), broken, steady("nothing", 0), steady("better", 12)},
			Metrics:    []Metric{{Name: sold, Exact: true}},
			Targets: []Target{
				target("broken", report.MoreThan, 0), target("broken", report.LessThan, 1), target("nothing", report.LessThan, 1),
				target("unknown", report.LessThan, 1), target("better", report.MoreThan, 1.1), target("better", report.MoreThan, 1.3),
			},
		}
		r := Run(t.Context(), c, Rules{Window: time.Second, For: time.Minute})
		for i, got := range r.Targets() {
			if want := map[bool]string{true: report.Met, false: report.Missed}[i == 4]; got.Verdict != want {
				t.Error(got)
			}
		}
		s := r.Section()
		if len(r.wrong()) != 1 || len(r.Failed) != 1 || len(s.Notes) != 1 || len(s.Targets) != 6 || len(s.Plots) != 1 {
			t.Errorf("wrong: %q, want one contender; section %+v", r.wrong(), s)
		}
		if rows := fmt.Sprint(s.Table.Rows); rows != "[[good 10 (10 to 10)] [broken -] [nothing 0 (0 to 0)] [better 12 (12 to 12)]]" {
			t.Error(rows)
		}
		short := Run(t.Context(), c, Rules{Window: time.Second})
		if got := short.Targets()[4]; got.Verdict != report.TooFew {
			t.Errorf("after one round: %s", got)
		}
	})
}

// TestAnInterruptedRoundDoesNotCount ends in the middle of the second.
func TestAnInterruptedRoundDoesNotCount(t *testing.T) {
	t.Parallel()
	busytest.Virtual(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 3500*time.Millisecond)
		defer cancel()
		r := Run(ctx, Case{Contenders: []Contender{steady("a", 1), steady("b", 1)}}, Rules{Window: time.Second, For: time.Hour})
		if len(r.Rounds) != 1 || len(r.Failed) != 0 {
			t.Errorf("%+v", r)
		}
	})
}

// TestIntervalsHoldWhatIsTrue draws few observations, again and again.
func TestIntervalsHoldWhatIsTrue(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(7, 7))
	for _, n := range []int{leastRounds, 20} {
		held := 0
		const trials = 300
		for seed := range uint64(trials) {
			values := make([]float64, n)
			for i := range values {
				values[i] = 3 + random.NormFloat64()
			}
			if e := (Result{Rules: Rules{Seed: seed}}).estimate(values); e.Low <= 3 && e.High >= 3 {
				held++
			}
		}
		if share := float64(held) / trials; share < 0.92 || share > 0.98 {
			t.Errorf("%d rounds: %.3f of the intervals hold the mean", n, share)
		}
	}
}
