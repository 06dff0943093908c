package openloop

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/uuid"
)

func someOrders(seed uint64) *Orders {
	return NewOrders(OrdersConfig{Seed: seed, SKU: "hot", Least: 1, Most: 5, Buyers: 50, Retries: func(i int) float64 {
		return map[bool]float64{true: 0.5}[i >= 500]
	}}, 1000)
}

func TestOrdersAreAsAskedFor(t *testing.T) {
	t.Parallel()
	o := someOrders(3)
	retries, quantities, seen := 0, map[int64]int{}, map[string]int{}
	for i := range o.Len() {
		r := o.Request(i, nil)
		var body struct {
			OrderID  string `json:"order_id"`
			BuyerID  string `json:"buyer_id"`
			Quantity int64  `json:"quantity"`
		}
		if err := json.Unmarshal(r.Body, &body); err != nil || r.Method != "POST" || r.Path != "/v1/skus/hot/deductions" {
			t.Fatalf("%v: %s %s %s", err, r.Method, r.Path, r.Body)
		}
		if body.OrderID != o.ID(i) || body.BuyerID != o.Buyer(i) || body.Quantity != o.Quantity(i) {
			t.Fatalf("request %d says %s", i, r.Body)
		}
		if id, err := uuid.Parse(body.OrderID); err != nil || id.Version() != 4 || id.Variant() != uuid.RFC4122 {
			t.Fatalf("%q is no UUID: %v", body.OrderID, err)
		}
		first, again := seen[body.OrderID]
		if again {
			retries++
		} else {
			first = i
			seen[body.OrderID] = i
		}
		if o.First(i) != first || o.Quantity(i) != o.Quantity(first) || o.Buyer(i) != o.Buyer(first) {
			t.Fatalf("request %d should repeat %d, and repeats %d", i, first, o.First(i))
		}
		quantities[body.Quantity]++
	}
	// Half of the last 500: 11 standard deviations around 250.
	if retries < 125 || retries > 375 {
		t.Errorf("%d retries", retries)
	}
	if len(quantities) != 5 || quantities[1] == 0 || quantities[5] == 0 {
		t.Errorf("quantities: %v", quantities)
	}
}

func TestWithoutBuyersEachOrderHasOneOfItsOwn(t *testing.T) {
	t.Parallel()
	o := NewOrders(OrdersConfig{Seed: 3, SKU: "hot", Least: 1, Most: 1}, 100)
	buyers := map[string]bool{}
	for i := range o.Len() {
		buyers[o.Buyer(i)] = true
		if o.Quantity(i) != 1 || o.First(i) != i {
			t.Fatalf("request %d: %d units, first asked by %d", i, o.Quantity(i), o.First(i))
		}
	}
	if len(buyers) != 100 {
		t.Errorf("%d buyers", len(buyers))
	}
}

func TestSumTellsStreamsApart(t *testing.T) {
	t.Parallel()
	at := Times(3, Poisson, []Phase{{"", 400, 400, time.Second}})
	sum := Sum(at, someOrders(3))
	if again := Sum(at, someOrders(3)); again != sum {
		t.Errorf("one seed, two sums: %s, %s", sum, again)
	}
	if other := Sum(at, someOrders(4)); other == sum {
		t.Error("two seeds, one sum")
	}
	at[7]++
	if later := Sum(at, someOrders(3)); later == sum {
		t.Error("other times, and the same sum")
	}
}

func TestRequestsAreWrittenWithoutAllocating(t *testing.T) {
	o, buffer := someOrders(3), make([]byte, 0, 256)
	if n := testing.AllocsPerRun(100, func() { o.Request(7, buffer[:0]) }); n > 0 {
		t.Errorf("%v allocations", n)
	}
}
