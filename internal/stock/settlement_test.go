package stock

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// drawDeduction draws a deduction in any state, with parts that add up.
func drawDeduction(t *rapid.T, id string, at time.Time) Deduction {
	d := Deduction{Order: Order{OrderID: id, BuyerID: rapid.SampledFrom([]string{"", "x", "y"}).Draw(t, "buyer")}}
	for segment := range rapid.IntRange(1, 3).Draw(t, "parts") {
		units := rapid.Int64Range(1, 4).Draw(t, "units")
		d.Parts = append(d.Parts, Part{Segment: 3 * segment, Quantity: units})
		d.Quantity += units
	}
	d.Order.Quantity, d.Merged = d.Quantity, len(d.Parts) > 1
	d.Status = rapid.SampledFrom([]DeductionStatus{StatusReserved, StatusCommitted, StatusCancelled, StatusExpired, StatusReturned}).Draw(t, "status")
	d.ExpiresAt = at.Add(rapid.SampledFrom([]time.Duration{-1, 0, 1}).Draw(t, "expiry") * time.Second)
	if d.BuyerID != "" && rapid.Bool().Draw(t, "counted") {
		d.CountedAt = "a"
	}
	return d
}

// drawRequest draws a request about a deduction, and perhaps an amendment that has its ref.
func drawRequest(t *rapid.T, id string, amended map[string]Amendment) SettleRequest {
	w := SettleRequest{
		OrderID: id, BuyerID: rapid.SampledFrom([]string{"", "x"}).Draw(t, "as"),
		Verb: rapid.SampledFrom([]Verb{Commit, Cancel, Return, Extend}).Draw(t, "verb"),
	}
	part := rapid.Bool().Draw(t, "part")
	switch {
	case w.Verb == Extend:
		w.Ref, w.ExtendFor = "r", rapid.SampledFrom([]time.Duration{1, 2, 3}).Draw(t, "for")*time.Second
	case part:
		w.Quantity = rapid.Int64Range(1, 6).Draw(t, "quantity")
		if w.Verb != Commit {
			w.Ref = "r"
		}
	}
	w.WriteOff = w.Verb == Return && rapid.Bool().Draw(t, "write off")
	if w.Amends() && rapid.IntRange(0, 3).Draw(t, "known") == 0 {
		verb := rapid.SampledFrom([]Verb{"", Cancel, Return, WriteOff}).Draw(t, "done")
		amended[id] = Amendment{OrderID: id, Ref: w.Ref, Verb: verb, Units: rapid.Int64Range(1, 2).Draw(t, "returned")}
	}
	return w
}

// TestPlanSettlementConserves: the units that a deduction no longer holds go back to existing segments and to its
// buyer, and only a live deduction may end. An amendment is not applied again, and no extension shortens.
func TestPlanSettlementConserves(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		at := time.Unix(1_800_000_000, 0)
		there, amended := make(map[string]Deduction), make(map[string]Amendment)
		s := Settlement{SKU: "a", At: at}
		for n := range rapid.IntRange(1, 6).Draw(t, "requests") {
			id := fmt.Sprintf("o%d", n)
			if rapid.Bool().Draw(t, "exists") {
				there[id] = drawDeduction(t, id, at)
			}
			s.Requests = append(s.Requests, drawRequest(t, id, amended))
		}
		segments := rapid.IntRange(1, 8).Draw(t, "segments")
		plan := PlanSettlement(s, there, amended, at, segments)

		var back, off, toBuyers, named int64
		var done int // amendments
		for i, request := range s.Requests {
			before, known := there[request.OrderID]
			after, err := plan.Results[i].Deduction, plan.Results[i].Err
			if mayName := known && (request.BuyerID == "" || request.BuyerID == before.BuyerID); !mayName {
				if CodeOf(err) != CodeUnknownDeduction {
					t.Fatalf("request %d for another's or none: %v", i, err)
				}
				continue
			}
			changed := slices.IndexFunc(plan.Changed, func(d Deduction) bool { return d.OrderID == request.OrderID })
			replayed, asked := amended[request.OrderID]
			asked = asked && request.Amends()
			if asked && err == nil && replayed.replayed(request.amendment()) != nil {
				t.Fatalf("%+v is a replay of %+v", request, replayed)
			}
			if asked && changed >= 0 && !before.Due(at) {
				t.Fatalf("%+v, which was done before, changes %+v", request, before)
			}
			if before.Due(at) { // it ends, whatever the request
				if changed < 0 || plan.Changed[changed].Status != StatusExpired || (err == nil && after.Status != StatusExpired) {
					t.Fatalf("request %+v on %+v, whose time has come: %+v, %v", request, before, after, err)
				}
				back += before.Quantity
				if before.CountedAt != "" {
					named += before.Quantity
				}
				continue
			}
			if err != nil {
				if before.Status == StatusReserved && request.Verb != Return && request.Quantity <= before.Quantity && !asked {
					t.Fatalf("request %+v on %+v: %v", request, before, err)
				}
				continue
			}
			if !before.Status.Live() && after.Status != before.Status {
				t.Fatalf("%s became %s", before.Status, after.Status)
			}
			if request.Amends() && !asked && (before.held() != after.held() || request.Verb == Extend) {
				done++
			}
			if after.ExpiresAt.Before(before.ExpiresAt) || after.ExpiresAt.After(before.ExpiresAt) && after.ExpiresAt != at.Add(request.ExtendFor) {
				t.Fatalf("%+v ends at %s, before at %s", request, after.ExpiresAt, before.ExpiresAt)
			}
			if before.Status == StatusCommitted && request.Verb != Return && after.held() != before.held() {
				t.Fatalf("%+v takes committed units back: %+v, %+v", request, before, after)
			}
			returned := before.held() - after.held()
			if before.CountedAt != "" {
				named += returned
			}
			if request.WriteOff {
				off += returned
				returned = 0
			}
			if returned != plan.Results[i].Returned {
				t.Fatalf("returned %d, told %d", returned, plan.Results[i].Returned)
			}
			back += returned
			same := before.Status == after.Status && before.Quantity == after.Quantity && before.ExpiresAt.Equal(after.ExpiresAt)
			if (changed >= 0) == same {
				t.Fatalf("changed %d: %+v to %+v", changed, before, after)
			}
		}
		for _, a := range plan.Amendments {
			if a.Verb == WriteOff {
				off += a.Movement("a").Quantity
			}
		}
		if off != 0 {
			t.Fatalf("%d units are written off and not in the ledger", off)
		}
		if len(plan.Amendments) != done {
			t.Fatalf("%d amendments are written, want %d: %+v", len(plan.Amendments), done, plan.Amendments)
		}
		for _, d := range plan.Changed {
			if sum := sumParts(d.Parts); sum != d.Quantity {
				t.Fatalf("%d units in parts of %+v", sum, d)
			}
		}
		for segment := range plan.Segments {
			if segment < 0 || segment >= segments {
				t.Fatalf("units go to segment %d of %d", segment, segments)
			}
		}
		for _, units := range plan.Buyers {
			toBuyers += units
		}
		if plan.Units() != back || toBuyers != named {
			t.Fatalf("%d units back and %d to buyers, want %d and %d", plan.Units(), toBuyers, back, named)
		}
	})
}

func sumParts(parts []Part) (units int64) {
	for _, p := range parts {
		units += p.Quantity
	}
	return units
}

// TestRequestsOfOneSKUAreSettledByThemselves: only lines of an order, which have one request each, stand or fall together.
func TestRequestsOfOneSKUAreSettledByThemselves(t *testing.T) {
	at := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	there := map[string]Deduction{}
	for _, id := range []string{"refused", "cancelled"} {
		there[id] = Deduction{Order: Order{OrderID: id, Quantity: 2}, Quantity: 2, Status: StatusReserved, ExpiresAt: at.Add(time.Hour), InOrder: true, Parts: []Part{{Quantity: 2}}}
	}
	plan := func(s Settlement) SettlementPlan { return PlanSettlement(s, there, nil, at, 1) }
	refused := SettleRequest{OrderID: "refused", Verb: Return, InOrder: true}
	cancelled := SettleRequest{OrderID: "cancelled", Verb: Cancel, InOrder: true}
	for _, c := range []struct {
		what  string
		lines []Settlement
		back  int64
	}{
		{"requests of one SKU", []Settlement{{SKU: "s", Requests: []SettleRequest{refused, cancelled}}}, 2},
		{"lines of an order", []Settlement{{SKU: "r", Requests: []SettleRequest{refused}}, {SKU: "s", Requests: []SettleRequest{cancelled}}}, 0},
	} {
		plans, results := PlanLines(c.lines, plan)
		back := int64(0)
		for _, p := range plans {
			back += p.Returns.Units()
		}
		if CodeOf(results[0].Err) != CodeNotCommitted || back != c.back {
			t.Errorf("%s: got %v, and %d units back, want %s and %d", c.what, results[0].Err, back, CodeNotCommitted, c.back)
		}
	}
}
