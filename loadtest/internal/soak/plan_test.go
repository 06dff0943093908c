package soak

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"inventory/internal/api/client"
	"inventory/loadtest/internal/load"
)

func someWork(seed uint64) Work {
	return Work{Seed: seed, Rate: 500, Length: 20 * time.Second, Spacing: load.Poisson, SKUs: 20, Stock: 10, Segments: 4}
}

func TestASeedRepeatsTheStream(t *testing.T) {
	t.Parallel()
	sum := func(seed uint64) string {
		p := NewPlan(someWork(seed))
		return load.Sum(p.At, p.operations)
	}
	if first, again, other := sum(5), sum(5), sum(6); first != again || first == other {
		t.Errorf("seeds 5, 5, 6: %s, %s, %s", first, again, other)
	}
}

// TestEveryKindOfWorkIsPlanned as often as it is meant to be, and what follows on something comes after it.
func TestEveryKindOfWorkIsPlanned(t *testing.T) {
	t.Parallel()
	p := NewPlan(someWork(7))
	counts, ended, asked := [kinds]int{}, map[int]kind{}, map[string]int{}
	brief := 0
	for i, x := range p.operations {
		k := p.kinds[i]
		counts[k]++
		of, again := asked[x.ID]
		if !again {
			of, asked[x.ID] = i, i
		}
		first := p.operations[of]
		switch k {
		case commit, cancel, giveBack:
			if was, twice := ended[of]; twice {
				t.Errorf("request %d is a %v of one that had a %v before", i, k, was)
			}
			ended[of] = k
			wants, least := reserve, after
			if k == giveBack {
				wants, least = deduct, settled
			}
			if p.kinds[of] != wants || first.ReserveFor == expires || first.Lines[0].SKU != x.Lines[0].SKU || p.At[i]-p.At[of] < least {
				t.Errorf("request %d, %+v, is about %+v of %v before", i, x, first, p.At[i]-p.At[of])
			}
		case retry, readOrder:
			if p.kinds[of] != deduct || first.Lines[0] != x.Lines[0] {
				t.Errorf("request %d, %+v, is about %+v", i, x, first)
			}
		default:
			if again {
				t.Errorf("request %d, %+v, is about another", i, x)
			}
		}
		if x.ReserveFor == expires {
			brief++
		}
	}
	for k, n := range counts {
		if share := works()[k].share * len(p.operations) / 1000; n == 0 || share > 100 && (n < share*3/5 || n > share*5/4) {
			t.Errorf("%d requests of %d are of the kind %v", n, len(p.operations), kind(k))
		}
	}
	if left := counts[reserve] - counts[commit] - counts[cancel]; brief == 0 || left < brief {
		t.Errorf("%d reservations, %d commits, %d cancels, %d that expire", counts[reserve], counts[commit], counts[cancel], brief)
	}
}

// TestAsMuchIsPutInAsIsTaken in a long run, if every order is filled.
func TestAsMuchIsPutInAsIsTaken(t *testing.T) {
	t.Parallel()
	w := someWork(8)
	w.Length = 10 * time.Minute
	p := NewPlan(w)
	var taken, given float64
	for i, x := range p.operations {
		switch p.kinds[i] {
		case deduct, commit, order:
			for _, l := range x.Lines {
				taken += float64(l.Quantity)
			}
		case giveBack, restock:
			given += float64(x.Lines[0].Quantity)
		}
	}
	if ratio := given / taken; ratio < 0.9 || ratio > 1.15 {
		t.Errorf("%v units are taken, %v put in", taken, given)
	}
}

// TestLinesOfAnOrderAreOfDifferentSKUs and can be read by the service.
func TestLinesOfAnOrderAreOfDifferentSKUs(t *testing.T) {
	t.Parallel()
	p := NewPlan(someWork(9))
	several := 0
	for i, o := range p.operations {
		r := load.NewRequest(&o)
		if !strings.HasPrefix(r.Path, "/v1/") || r.Body != nil && !json.Valid(r.Body) {
			t.Fatalf("request %d: %s %s", i, r.Path, r.Body)
		}
		if p.kinds[i] != order {
			continue
		}
		var body client.NewOrder
		if err := json.Unmarshal(r.Body, &body); err != nil {
			t.Fatal(err)
		}
		skus := map[string]bool{}
		for _, l := range body.Lines {
			skus[l.Sku] = true
		}
		if len(skus) != len(body.Lines) || len(skus) > mostLines {
			t.Errorf("request %d: %+v", i, body)
		}
		if len(skus) > 1 {
			several++
		}
	}
	if several == 0 {
		t.Error("no order has several lines")
	}
}
