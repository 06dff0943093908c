package flashsale

import (
	"math"
	"reflect"
	"slices"
	"testing"
	"time"

	"inventory/loadtest/internal/history"
	"inventory/loadtest/internal/load"
)

// played is a round of orders of two units whose requests ended so, each due when it was sent. The second asks for the order of
// the first again.
func played(replies ...load.Reply) *round {
	r := &round{sku: "hot", load: load.Load{At: make([]time.Duration, len(replies))}}
	for i, reply := range replies {
		r.load.At[i] = reply.Sent
	}
	r.load.Operations, r.first = Config{Quantity: Units{2, 2}}.orders(1, "hot", len(replies), func(i int) float64 {
		return map[bool]float64{true: 1}[i == 1]
	})
	r.result = &load.Result{Load: r.load, Replies: replies}
	return r
}

func reply(outcome load.Outcome, sent, over time.Duration) load.Reply {
	return load.Reply{Sent: sent, Over: over, Outcome: outcome}
}

// TestARoundIsSummedUp: four units are sold to two orders, one of which got no answer.
func TestARoundIsSummedUp(t *testing.T) {
	t.Parallel()
	r := played(reply(load.Accepted, 10, 20), reply(load.Replayed, 30, 40), reply(load.Unknown, 12, 22), reply(load.SoldOut, 13, 23))
	r.opening = 5
	held := func(i int) history.Deduction {
		return history.Deduction{SKU: "hot", ID: r.load.Operations[i].ID, Quantity: 2, State: "committed"}
	}
	r.settle(history.Rows{
		SKUs: []history.SKU{{Name: "hot", Initial: 4, Merges: 1}}, Deductions: []history.Deduction{held(0), held(2)},
	}, history.Findings{Refusals: map[string]history.Refusals{"hot": {False: history.Bounds{Least: 1, Most: 2}, Stranded: 3}}})
	if r.told != 1 || r.units != 4 || r.oversold() != 0 || r.refusals.False.Most != 2 || r.refusals.Stranded != 3 {
		t.Errorf("round %+v, want 1 order that was told, 4 units, none oversold, at most 2 false refusals, 3 units stranded", r)
	}
	// Enough orders were due at 12, 7 after the opening.
	if r.soldOut != 15 || r.planned != 7 || r.behind() != 8e-6 || r.firstNo != 23 {
		t.Errorf("sold out after %d, planned %d, behind %v, first refusal %d", r.soldOut, r.planned, r.behind(), r.firstNo)
	}
}

func TestClocksThatDifferAreTold(t *testing.T) {
	t.Parallel()
	r := played(reply(load.Accepted, 10, 20), reply(load.SaleClosed, 40, 50), reply(load.SaleClosed, 10, 50), reply(load.SoldOut, 60, 70))
	r.opening = 30
	r.settle(history.Rows{}, history.Findings{})
	if r.early != 1 || r.late != 1 || r.firstNo != 70 {
		t.Errorf("round %+v", r)
	}
}

func TestOrdersAreAsAskedFor(t *testing.T) {
	t.Parallel()
	all, first := Config{Quantity: Units{1, 5}, Buyers: 50}.orders(3, "hot", 1000, func(i int) float64 { return map[bool]float64{true: 0.5}[i >= 500] })
	retries, quantities, seen := 0, map[int64]int{}, map[string]int{}
	for i, o := range all {
		before, again := seen[o.ID]
		if again {
			retries++
		} else {
			before, seen[o.ID] = i, i
		}
		if of := all[before]; first[i] != before || o.Lines[0] != of.Lines[0] || o.Buyer != of.Buyer {
			t.Fatalf("request %d should repeat %d, and repeats %d", i, before, first[i])
		}
		quantities[o.Lines[0].Quantity]++
	}
	// Half of the last 500: 11 standard deviations around 250.
	if retries < 125 || retries > 375 || len(quantities) != 5 || quantities[1] == 0 || quantities[5] == 0 {
		t.Errorf("%d retries, quantities: %v", retries, quantities)
	}
	buyers := map[string]bool{}
	alone, _ := Config{Quantity: Units{1, 1}}.orders(3, "hot", 100, func(int) float64 { return 0 })
	for _, o := range alone {
		buyers[o.Buyer] = true
	}
	if len(buyers) != 100 {
		t.Errorf("%d buyers of 100 orders", len(buyers))
	}
}

// TestASeedRepeatsItsRequests plans rounds of the same seed, of another one, and another round.
func TestASeedRepeatsItsRequests(t *testing.T) {
	t.Parallel()
	plan := func(seed uint64, n int) load.Load {
		c := Config{Seed: seed, Quantity: Units{1, 5}, Spacing: load.Poisson, Phases: []load.Phase{{Name: Spike, Rate: 100, Length: time.Second}}}
		return (&Sale{Config: c}).newRound(n).load
	}
	if first, again := plan(3, 0), plan(3, 0); !reflect.DeepEqual(first, again) || len(first.At) == 0 {
		t.Errorf("seed 3 plans %d requests, and then others", len(first.At))
	}
	for _, other := range []load.Load{plan(4, 0), plan(3, 1)} {
		if first := plan(3, 0); reflect.DeepEqual(first.At, other.At) || first.Operations[0].ID == other.Operations[0].ID {
			t.Error("another seed or round has the same requests")
		}
	}
}

func TestMeasuresAreToldByTheirDefinition(t *testing.T) {
	t.Parallel()
	wait := measure{name: "wait", unit: "ms", of: func(r *round) float64 { return float64(r.number) }}
	rounds := []*round{{number: 3}, {number: 1}, {number: 2}}
	for want, got := range map[string]string{"2 ms (median of 3 rounds, 1 to 3)": wait.words(rounds), "3 ms": wait.words(rounds[:1])} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	unknown := measure{of: func(r *round) float64 { return math.Sqrt(float64(r.number - 2)) }}
	if got := unknown.value(rounds); !math.IsNaN(got) {
		t.Errorf("got %v, want no number where a round has none", got)
	}
}

func TestTheSaleOpensWhenTheTrickleIsOver(t *testing.T) {
	t.Parallel()
	const s = time.Second
	phases := []load.Phase{{Name: Trickle, Rate: 10, Length: 2 * s}, {Name: Spike, Rate: 10, Length: s}, {Name: Storm, Rate: 10, Length: 2 * s}}
	if at := opening(phases); at != 2*s {
		t.Errorf("it opens at %v", at)
	}
	all := spans(phases)
	want := []span{{Trickle, 0, 2 * s}, {Spike, 2 * s, 3 * s}, {Storm, 3 * s, 5 * s}}
	if !slices.Equal(all, want) {
		t.Errorf("spans %v", all)
	}
	r := (&Sale{Config: Config{Quantity: Units{1, 1}, Spacing: load.Even, Phases: phases}}).newRound(0)
	for i, first := range r.first {
		if again := first != i; again != (r.load.At[i] >= 3*s) {
			t.Errorf("at %v it is a retry: %t", r.load.At[i], again)
		}
	}
}
