package stock

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// drawOrders draws a batch: few ids, so that some are known.
func drawOrders(t *rapid.T) []Order {
	return rapid.SliceOfNDistinct(rapid.Custom(func(t *rapid.T) Order {
		return Order{
			OrderID:  fmt.Sprintf("o%d", rapid.IntRange(0, 20).Draw(t, "id")),
			Quantity: rapid.Int64Range(1, 12).Draw(t, "quantity"),
		}
	}), 1, 16, func(o Order) string { return o.OrderID }).Draw(t, "orders")
}

func drawKnown(t *rapid.T) map[string]Deduction {
	known := make(map[string]Deduction)
	for _, id := range rapid.SliceOfNDistinct(rapid.IntRange(0, 20), 0, 5, rapid.ID[int]).Draw(t, "known") {
		name := fmt.Sprintf("o%d", id)
		known[name] = Deduction{Order: Order{OrderID: name}, Quantity: 1}
	}
	return known
}

func TestAdmitTakesWhatFitsInTurn(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		orders, known := drawOrders(t), drawKnown(t)
		available := rapid.Int64Range(0, 60).Draw(t, "available")
		outcomes := make([]Outcome, len(orders))
		inTurn := rapid.Bool().Draw(t, "in turn")
		admitted := Batch{Orders: orders, InTurn: inTurn}.admit(available, Facts{Known: known}, outcomes)

		left, over := available, false
		for i, o := range orders {
			switch {
			case known[o.OrderID].OrderID != "":
				if outcomes[i].Kind != Known {
					t.Fatalf("order %d is known, outcome %+v", i, outcomes[i])
				}
			case over || o.Quantity > left:
				over = inTurn
				if outcomes[i].Kind != Short || outcomes[i].Available != left {
					t.Fatalf("order %d of %d does not fit into %d, outcome %+v", i, o.Quantity, left, outcomes[i])
				}
			default:
				if !slices.Contains(admitted, i) {
					t.Fatalf("order %d of %d fits into %d and was not admitted", i, o.Quantity, left)
				}
				left -= o.Quantity
			}
		}
	})
}

func TestAdmitCountsEachBuyer(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		orders, known := drawOrders(t), drawKnown(t)
		limit := rapid.Int64Range(1, 20).Draw(t, "limit")
		taken := make(map[string]int64)
		for i := range orders {
			orders[i].BuyerID = rapid.SampledFrom([]string{"x", "y", "z"}).Draw(t, "buyer")
			taken[orders[i].BuyerID] = rapid.Int64Range(0, limit).Draw(t, "taken")
		}
		held := maps.Clone(taken)
		outcomes := make([]Outcome, len(orders))
		admitted := Batch{Orders: orders, Limit: limit}.admit(1000, Facts{Known: known, BuyerUnits: taken}, outcomes)
		for i, o := range orders {
			switch fits := held[o.BuyerID]+o.Quantity <= limit; {
			case outcomes[i].Kind == Known:
			case fits != slices.Contains(admitted, i):
				t.Fatalf("order %d of %d by a buyer of %d, limit %d: outcome %+v", i, o.Quantity, held[o.BuyerID], limit, outcomes[i])
			case fits:
				held[o.BuyerID] += o.Quantity
			case outcomes[i].Kind != Limited:
				t.Fatalf("order %d is too much for its buyer, outcome %+v", i, outcomes[i])
			}
		}
		if !maps.Equal(held, taken) {
			t.Fatalf("counted %v, want %v", taken, held)
		}
	})
}

func TestAMergeConservesUnitsAndNeedsNoSecondMerge(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		segments := rapid.SliceOfN(rapid.Int64Range(0, 9), 1, 8).Draw(t, "segments")
		orders, known := drawOrders(t), drawKnown(t)
		plan := Batch{Segment: AllSegments, Orders: orders}.fill(slices.Clone(segments), Facts{Known: known})

		var sold, largest, fullest int64
		for _, i := range plan.Admitted {
			var given int64
			for n, p := range plan.Parts[i] {
				given += p.Quantity
				if p.Quantity < 1 || (n > 0 && plan.Parts[i][n-1].Segment >= p.Segment) {
					t.Fatalf("parts %+v", plan.Parts[i])
				}
			}
			if given != orders[i].Quantity {
				t.Fatalf("an order was given %d units, want %d", given, orders[i].Quantity)
			}
			sold += given
			largest = max(largest, given)
		}
		for i, level := range plan.Segments {
			if level < 0 || level != segments[i]+plan.Changes[i] {
				t.Fatalf("segment %d: %d + %d = %d", i, segments[i], plan.Changes[i], level)
			}
			fullest = max(fullest, level)
		}
		if left := Sum(plan.Segments); left+sold != Sum(segments) {
			t.Fatalf("%d left and %d sold of %d", left, sold, Sum(segments))
		} else if fullest < largest && fullest != left {
			t.Fatalf("%v left: no segment can fill an order of %d, and they were not gathered", plan.Segments, largest)
		}
	})
}

func TestAMergeInMidSaleLeavesTheOthersTheirStock(t *testing.T) {
	segments := make([]int64, 10)
	for i := range segments {
		segments[i] = 1000
	}
	plan := Batch{Segment: AllSegments, Orders: []Order{{OrderID: "a", Quantity: 1001}}}.fill(segments, Facts{})
	stocked := 0
	for _, left := range plan.Segments {
		if left > 0 {
			stocked++
		}
	}
	if slices.Max(plan.Segments) < 1001 || stocked < 4 {
		t.Fatalf("%v left", plan.Segments)
	}
}

func TestAMergePrefersASingleSegment(t *testing.T) {
	plan := Batch{Segment: AllSegments, Orders: []Order{{OrderID: "a", Quantity: 4}}}.fill([]int64{2, 5, 3}, Facts{})
	if plan.Merged != 0 || len(plan.Parts[0]) != 1 || plan.Parts[0][0].Segment != 1 {
		t.Fatalf("plan %+v", plan)
	}
}

func TestSpread(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		units, n := rapid.Int64Range(0, MaxStock).Draw(t, "units"), rapid.IntRange(1, MaxSegments).Draw(t, "segments")
		spread := Spread(units, n)
		if Sum(spread) != units || len(spread) != n || slices.Max(spread)-slices.Min(spread) > 1 {
			t.Fatalf("%d over %d: %v", units, n, spread)
		}
	})
}
