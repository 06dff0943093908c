package stocktest

import (
	"fmt"
	"testing"
	"time"

	"inventory/internal/stock"
)

func testCommit(t *testing.T, k *kit) {
	k.create(10, 2)
	k.deduct(0, stock.Fence{}, reserved("a", 3, time.Minute), order("b", 1))
	before, _, _ := k.soldOut(0)
	for range 2 { // the second one finds it done
		k.settled(at, commit("a"), stock.StatusCommitted, 3, 0)
		k.balance(at, 6, 0, 4)
	}
	if after, _, _ := k.soldOut(0); fmt.Sprint(after) != fmt.Sprint(before) {
		t.Errorf("a commit changed the versions from %v to %v", before, after)
	}
	k.settled(at, commit("b"), stock.StatusCommitted, 1, 0)
	d := k.read("a", stock.Part{Quantity: 3})
	if d.Order.Quantity != 3 || d.ReserveFor != time.Minute || !d.ExpiresAt.Equal(at.Add(time.Minute)) {
		t.Errorf("after the commit: %+v", d)
	}
	k.settled(at.Add(time.Hour), commit("a"), stock.StatusCommitted, 3, 0)
	k.expire(at.Add(time.Hour), 0)
}

func testCancel(_ *testing.T, k *kit) {
	k.create(10, 3)
	k.deduct(1, stock.Fence{}, reserved("a", 2, time.Minute), order("b", 1))
	k.merge(nil, order("m", 6))
	before := fmt.Sprint(k.soldOut(0))
	k.settled(at, cancel("a"), stock.StatusCancelled, 2, 2)
	if after := fmt.Sprint(k.soldOut(0)); after == before {
		k.Errorf("a cancel left the versions at %s", after)
	}
	k.settled(at, cancel("a"), stock.StatusCancelled, 2, 0)
	k.settled(at, returns("b", "", 0), stock.StatusReturned, 1, 1)
	k.settled(at, returns("m", "", 0), stock.StatusReturned, 6, 6)
	k.balance(at, 10, 0, 0)
	k.segmentsSum(10)
	k.outcomes(k.deduct(1, stock.Fence{}, order("b", 1)).Outcomes, stock.Known)
}

func testCommitOfAPart(t *testing.T, k *kit) {
	k.create(12, 3)
	k.deduct(1, stock.Fence{}, reserved("a", 3, time.Minute))
	k.merge(nil, reserved("m", 7, time.Minute)) // 4 of 0, 3 of 2
	k.settled(at, stock.SettleRequest{OrderID: "a", Quantity: 1}, stock.StatusCommitted, 1, 2)
	if d := k.read("a", stock.Part{Segment: 1, Quantity: 1}); d.Order.Quantity != 3 {
		t.Errorf("asked: %+v", d)
	}
	given, err := k.store.Deduction(t.Context(), sku, "m")
	if err != nil || len(given.Parts) != 2 {
		t.Fatalf("merged: %+v, %v", given, err)
	}
	k.settled(at, stock.SettleRequest{OrderID: "m", Quantity: given.Parts[0].Quantity + 1}, stock.StatusCommitted, given.Parts[0].Quantity+1, 6-given.Parts[0].Quantity)
	d := k.read("m", given.Parts[0], stock.Part{Segment: given.Parts[1].Segment, Quantity: 1})
	if d.Order.Quantity != 7 || d.Quantity != given.Parts[0].Quantity+1 {
		t.Errorf("merged, in part: %+v", d)
	}
	// The very commit again is no error, another one is.
	k.settled(at, stock.SettleRequest{OrderID: "a", Quantity: 1}, stock.StatusCommitted, 1, 0)
	k.code(k.settle(at, stock.SettleRequest{OrderID: "a", Quantity: 2})[0].Err, stock.CodeAlreadyCommitted)
	k.balance(at, 12-1-d.Quantity, 0, 1+d.Quantity)
	k.segmentsSum(12 - 1 - d.Quantity)
	// A replay of the order is told by what it asked.
	k.equal("known as", fmt.Sprint(k.deduct(1, stock.Fence{}, reserved("a", 3, time.Minute)).Outcomes[0].Deduction.Order.Quantity), "3")
	// What was kept can be returned.
	k.settled(at, returns("m", "", 0), stock.StatusReturned, d.Quantity, d.Quantity)
	k.settled(at, returns("a", "", 0), stock.StatusReturned, 1, 1)
	k.segmentsSum(12)
}

func testSettleRefuses(t *testing.T, k *kit) {
	k.create(10, 1)
	k.deduct(0, stock.Fence{}, reserved("a", 2, time.Minute), reserved("b", 2, time.Hour), order("c", 1),
		stock.Order{OrderID: "d", BuyerID: "x", Quantity: 1, ReserveFor: time.Hour})
	k.settle(at, returns("c", "", 0))
	minute := at.Add(time.Minute)
	for _, c := range []struct {
		request stock.SettleRequest
		want    stock.Code
	}{
		{commit("a"), stock.CodeNotReserved}, // its time has come: this ends it
		{stock.SettleRequest{OrderID: "b", Quantity: 3}, stock.CodeInvalidRequest},
		{commit("c"), stock.CodeNotReserved},
		{commit("nope"), stock.CodeUnknownDeduction},
		{cancel("nope"), stock.CodeUnknownDeduction},
		{stock.SettleRequest{OrderID: "d", BuyerID: "y"}, stock.CodeUnknownDeduction},
		{stock.SettleRequest{OrderID: "d", BuyerID: "y", Verb: stock.Cancel}, stock.CodeUnknownDeduction},
	} {
		k.code(k.settle(minute, c.request)[0].Err, c.want)
	}
	k.settled(minute, cancel("a"), stock.StatusExpired, 2, 0)
	k.balance(minute, 7, 3, 0)
	k.settled(minute, stock.SettleRequest{OrderID: "d", BuyerID: "x"}, stock.StatusCommitted, 1, 0)
	_, err := k.store.Settle(t.Context(), stock.Settlement{SKU: "nope", At: at, Requests: []stock.SettleRequest{commit("a")}})
	k.code(err, stock.CodeUnknownSKU)
	k.expire(minute, 0)
}

// testCancelLeavesCommitted: a cancel that comes after the commit changes nothing, and says with how many units it was committed.
func testCancelLeavesCommitted(_ *testing.T, k *kit) {
	k.create(12, 3)
	k.deduct(1, stock.Fence{}, reserved("a", 2, time.Minute), reserved("b", 1, time.Minute), order("c", 1))
	k.settled(at, commit("a"), stock.StatusCommitted, 2, 0)
	for _, id := range []string{"a", "c"} {
		refused := k.settle(at, cancel(id))[0]
		k.code(refused.Err, stock.CodeAlreadyCommitted)
		if refused.Returned != 0 {
			k.Errorf("%s: %d units went back", id, refused.Returned)
		}
	}
	k.balance(at, 8, 1, 3)
	k.settled(at, cancel("b"), stock.StatusCancelled, 1, 1)
	k.settled(at, cancel("b"), stock.StatusCancelled, 1, 0)
	k.balance(at, 9, 0, 3)
	k.segmentsSum(9)
}

// testSettleTogether: one refused request costs its neighbours nothing.
func testSettleTogether(_ *testing.T, k *kit) {
	k.create(600, 3)
	var requests []stock.SettleRequest
	for n := range 256 {
		id := fmt.Sprintf("o-%03d", n)
		k.deduct(n%3, stock.Fence{}, reserved(id, 2, time.Minute))
		switch n % 4 {
		case 0:
			requests = append(requests, commit(id))
		case 1:
			requests = append(requests, cancel(id))
		case 2:
			requests = append(requests, stock.SettleRequest{OrderID: id, Quantity: 1})
		default:
			requests = append(requests, commit("not "+id))
		}
	}
	for n, got := range k.settle(at, requests...) {
		want := []stock.DeductionStatus{stock.StatusCommitted, stock.StatusCancelled, stock.StatusCommitted, ""}[n%4]
		if got.Deduction.Status != want || (got.Err == nil) != (n%4 < 3) || got.Returned != []int64{0, 2, 1, 0}[n%4] {
			k.Fatalf("request %d: %+v", n, got)
		}
	}
	k.balance(at, 600-64*5, 64*2, 64*3)
	k.segmentsSum(600 - 64*5)
}
