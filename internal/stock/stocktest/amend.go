package stocktest

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"inventory/internal/stock"
)

// giveBack gives units of a deduction back, under a ref.
func giveBack(id, ref string, units int64) stock.SettleRequest {
	return stock.SettleRequest{OrderID: id, Ref: ref, Verb: stock.Cancel, Quantity: units}
}

// returns returns committed units; with 0 all, and without a ref.
func returns(id, ref string, units int64) stock.SettleRequest {
	return stock.SettleRequest{OrderID: id, Ref: ref, Verb: stock.Return, Quantity: units}
}

// extend reserves for so long from the decision on, under a ref.
func extend(id, ref string, reserveFor time.Duration) stock.SettleRequest {
	return stock.SettleRequest{OrderID: id, Ref: ref, Verb: stock.Extend, ExtendFor: reserveFor}
}

// refuses checks that requests are refused at an instant, and that nothing goes back.
func (k *kit) refuses(at time.Time, want stock.Code, requests ...stock.SettleRequest) {
	k.Helper()
	for _, request := range requests {
		got := k.settle(at, request)[0]
		k.code(got.Err, want)
		k.equal("returned", fmt.Sprint(got.Returned), "0")
	}
}

// ends checks when a reservation ends, and for how long its order asked.
func (k *kit) ends(id string, end time.Time, asked time.Duration) {
	k.Helper()
	found, err := k.store.Deductions(k.Context(), sku, []string{id})
	if d := found[id]; err != nil || !d.ExpiresAt.Equal(end) || d.ReserveFor != asked {
		k.Fatalf("%s ends at %s and asked for %s, %v, want %s and %s", id, d.ExpiresAt, d.ReserveFor, err, end, asked)
	}
}

func testExtend(_ *testing.T, k *kit) {
	k.create(9, 3)
	order := reserved("a", 2, time.Minute)
	k.deduct(0, stock.Fence{}, order)
	k.merge(nil, reserved("m", 7, 2*time.Minute))
	before, _, _ := k.soldOut(0)
	half := at.Add(30 * time.Second)
	for _, when := range []time.Time{half, half.Add(20 * time.Second)} { // the second time it is a replay
		k.settled(when, extend("a", "r", time.Hour), stock.StatusReserved, 2, 0)
		k.ends("a", half.Add(time.Hour), time.Minute)
	}
	if after, _, _ := k.soldOut(0); fmt.Sprint(after) != fmt.Sprint(before) {
		k.Errorf("an extension changed the versions from %v to %v", before, after)
	}
	k.refuses(half, stock.CodeRefReused, extend("a", "r", time.Hour+time.Microsecond), giveBack("a", "r", 1))
	// It never shortens, and that has happened then.
	k.settled(half, extend("a", "short", time.Second), stock.StatusReserved, 2, 0)
	late := half.Add(time.Hour - time.Second)
	k.settled(late, extend("a", "short", time.Second), stock.StatusReserved, 2, 0)
	k.ends("a", half.Add(time.Hour), time.Minute)
	// Each deduction has its own refs.
	k.settled(at, extend("m", "r", time.Minute), stock.StatusReserved, 7, 0)
	k.ends("m", at.Add(2*time.Minute), 2*time.Minute)

	k.equal("known as", fmt.Sprint(k.deduct(0, stock.Fence{}, order).Outcomes[0].Deduction.Answers(order)), "true")
	k.expire(at.Add(2*time.Minute), 1) // the other one
	k.expire(half.Add(time.Hour-time.Microsecond), 0)
	k.balance(late, 7, 2, 0)
	k.expire(half.Add(time.Hour), 1)
	k.balance(late, 9, 0, 0)
	k.settled(half.Add(2*time.Hour), extend("a", "r", time.Hour), stock.StatusExpired, 2, 0)
}

func testExtendRefuses(_ *testing.T, k *kit) {
	k.create(10, 1)
	k.deduct(0, stock.Fence{}, reserved("a", 2, time.Minute), reserved("b", 1, time.Hour), reserved("c", 1, time.Hour), order("d", 1))
	k.settle(at, commit("b"), cancel("c"))
	minute := at.Add(time.Minute)
	bounded := extend("a", "r", time.Hour+time.Second)
	bounded.MostExtend = time.Hour
	k.refuses(at, stock.CodeInvalidRequest, bounded)
	k.refuses(minute, stock.CodeNotReserved, extend("b", "r", time.Hour), extend("c", "r", time.Hour), extend("d", "r", time.Hour))
	k.refuses(at, stock.CodeUnknownDeduction, extend("none", "r", time.Hour), stock.SettleRequest{OrderID: "a", BuyerID: "x", Ref: "r", Verb: stock.Extend, ExtendFor: time.Hour})
	k.balance(at, 6, 2, 2)

	ended := k.settle(minute, extend("a", "r", time.Hour))[0] // its time has come: this ends it
	k.code(ended.Err, stock.CodeNotReserved)
	k.equal("returned", fmt.Sprint(ended.Returned), "2")
	k.equal("state", string(k.read("a", stock.Part{Quantity: 2}).Status), "expired")
	k.refuses(minute, stock.CodeNotReserved, extend("a", "r", time.Hour))
	k.balance(minute, 8, 0, 2)
	// What was refused has left its ref free, and what was done is told under a lower bound too.
	k.deduct(0, stock.Fence{}, reserved("e", 1, time.Minute))
	k.settled(at, extend("e", "r", time.Hour), stock.StatusReserved, 1, 0)
	bounded.OrderID, bounded.ExtendFor, bounded.MostExtend = "e", time.Hour, time.Second
	k.settled(at, bounded, stock.StatusReserved, 1, 0)
}

func testReturnOfAPart(_ *testing.T, k *kit) {
	k.limit = 7
	k.create(12, 3)
	order := stock.Order{OrderID: "m", BuyerID: "x", Quantity: 7, ReserveFor: time.Minute}
	k.merge(nil, order, by("y", "c", 5))
	for _, back := range []int64{2, 0} { // the second one finds it done
		k.settled(at, giveBack("m", "1", 2), stock.StatusReserved, 5, back)
		k.balance(at, 2, 5, 5)
	}
	k.counted("x", 5)
	k.settled(at, giveBack("m", "2", 1), stock.StatusReserved, 4, 1)
	k.settled(at, giveBack("m", "3", 1), stock.StatusReserved, 3, 1) // of one segment by now
	k.settled(at, giveBack("m", "4", 1), stock.StatusReserved, 2, 1)
	k.ends("m", at.Add(time.Minute), time.Minute)
	k.equal("known as", fmt.Sprint(k.deduct(0, stock.Fence{}, order).Outcomes[0].Deduction.Answers(order)), "true")
	k.refuses(at, stock.CodeInvalidRequest, giveBack("m", "5", 3))
	k.refuses(at, stock.CodeRefReused, giveBack("m", "4", 2), extend("m", "4", time.Hour))

	k.settled(at, commit("m"), stock.StatusCommitted, 2, 0)
	k.balance(at, 5, 0, 7)
	k.refuses(at, stock.CodeAlreadyCommitted, giveBack("c", "1", 2), cancel("c"))
	k.settled(at, giveBack("m", "4", 1), stock.StatusCommitted, 2, 0) // a retry from before the commit
	k.settled(at, returns("c", "1", 2), stock.StatusCommitted, 3, 2)
	k.settled(at.Add(time.Hour), returns("m", "5", 1), stock.StatusCommitted, 1, 1)
	k.settled(at, stock.SettleRequest{OrderID: "m", Quantity: 2}, stock.StatusCommitted, 1, 0) // a retry of the commit
	k.settled(at, commit("m"), stock.StatusCommitted, 1, 0)
	k.refuses(at, stock.CodeAlreadyCommitted, stock.SettleRequest{OrderID: "m", Quantity: 1})
	k.counted("x", 1)
	k.counted("y", 3)

	k.settled(at, returns("m", "6", 1), stock.StatusReturned, 1, 1) // the last units
	k.settled(at, returns("c", "", 0), stock.StatusReturned, 3, 3)  // the rest
	k.settled(at, returns("m", "6", 1), stock.StatusReturned, 1, 0)
	k.settled(at, giveBack("m", "1", 2), stock.StatusReturned, 1, 0)
	k.settled(at, returns("c", "", 0), stock.StatusReturned, 3, 0)
	k.refuses(at, stock.CodeNotCommitted, returns("m", "7", 1), returns("c", "2", 1))
	k.refuses(at, stock.CodeAlreadyCommitted, giveBack("m", "7", 1), cancel("c"))
	k.refuses(at, stock.CodeNotReserved, commit("m"))
	k.counted("x", 0)
	k.balance(at, 12, 0, 0)
	k.segmentsSum(12)
}

// counted checks with how many units a buyer is counted.
func (k *kit) counted(buyer string, want int64) {
	k.Helper()
	room, err := k.store.BuyerRoom(k.Context(), buyer, []string{sku, "none"})
	if units := k.limit - room[sku]; err != nil || units != want || len(room) != 1 {
		k.Fatalf("%s has room for %v, %v: counted with %d, want %d", buyer, room, err, units, want)
	}
}

// testReturnOfAPartExpires: what is left of a reservation expires, and a commit of a part after a return is of what is left.
func testReturnOfAPartExpires(_ *testing.T, k *kit) {
	k.create(10, 2)
	k.deduct(0, stock.Fence{}, reserved("a", 4, time.Minute))
	k.merge(nil, reserved("m", 6, time.Minute))
	k.settled(at, giveBack("a", "r", 1), stock.StatusReserved, 3, 1)
	k.settled(at, giveBack("m", "r", 2), stock.StatusReserved, 4, 2)
	k.settled(at, stock.SettleRequest{OrderID: "a", Quantity: 2}, stock.StatusCommitted, 2, 1)
	k.settled(at, returns("a", "s", 1), stock.StatusCommitted, 1, 1)
	minute := at.Add(time.Minute)
	k.code(k.settle(minute, giveBack("m", "s", 1))[0].Err, stock.CodeNotReserved) // which ends it
	k.equal("state", string(k.state("m")), "expired")
	k.settled(minute, giveBack("m", "r", 2), stock.StatusExpired, 4, 0)
	k.balance(minute, 9, 0, 1)
	k.segmentsSum(9)
}

func (k *kit) state(id string) stock.DeductionStatus {
	k.Helper()
	d, err := k.store.Deduction(k.Context(), sku, id)
	if err != nil {
		k.Fatal(err)
	}
	return d.Status
}

// testReturn: what is committed can be returned, nothing else, and no return happens twice.
func testReturn(_ *testing.T, k *kit) {
	k.create(20, 3)
	k.deduct(1, stock.Fence{}, reserved("r", 2, time.Minute), order("a", 3), order("b", 1))
	k.merge(nil, order("m", 12))
	k.refuses(at, stock.CodeNotCommitted, returns("r", "", 0), returns("r", "1", 1))
	k.refuses(at, stock.CodeInvalidRequest, returns("a", "1", 4))
	k.settled(at, returns("a", "", 0), stock.StatusReturned, 3, 3)
	k.refuses(at, stock.CodeRefReused, stock.SettleRequest{OrderID: "a", Verb: stock.Return, WriteOff: true})
	k.settled(at, cancel("r"), stock.StatusCancelled, 2, 2)
	k.refuses(at, stock.CodeNotCommitted, returns("r", "", 0))
	k.settled(at, returns("m", "1", 5), stock.StatusCommitted, 7, 5)
	k.settled(at, returns("m", "", 0), stock.StatusReturned, 7, 7)
	k.settled(at, returns("m", "1", 5), stock.StatusReturned, 7, 0)
	k.balance(at, 19, 0, 1)
	k.segmentsSum(19)
	if d := k.state("m"); d != stock.StatusReturned {
		k.Errorf("got %s, want returned", d)
	}
}

// testWriteOff: units that are written off are not sold again, count for no buyer, and stand in the ledger and the audit.
func testWriteOff(t *testing.T, k *kit) {
	k.limit = 5
	k.create(12, 3)
	k.deduct(1, stock.Fence{}, by("x", "a", 3))
	k.merge(nil, by("y", "m", 5))
	off := func(id, ref string, units int64) stock.SettleRequest {
		return stock.SettleRequest{OrderID: id, Verb: stock.Return, Ref: ref, Quantity: units, WriteOff: true, Reason: "damaged"}
	}
	k.settled(at, off("a", "1", 1), stock.StatusCommitted, 2, 0)
	k.settled(at, off("a", "1", 1), stock.StatusCommitted, 2, 0)
	k.refuses(at, stock.CodeRefReused, returns("a", "1", 1))
	k.settled(at, off("m", "", 0), stock.StatusReturned, 5, 0)
	k.settled(at, off("m", "", 0), stock.StatusReturned, 5, 0)
	k.settled(at, off("a", "2", 1), stock.StatusCommitted, 1, 0)
	k.settled(at, returns("a", "", 0), stock.StatusReturned, 1, 1)
	k.counted("x", 0)
	k.counted("y", 0)
	k.segmentsSum(5)
	moves, err := k.store.Movements(t.Context(), sku, stock.Position{}, 10)
	if err != nil || len(moves) != 3 {
		t.Fatalf("got %+v, %v, want three write-offs", moves, err)
	}
	var units int64
	for _, m := range moves {
		if key, _ := m.Returned(); m.Kind != stock.WrittenOff || m.Reason != "damaged" || key != "a" && key != "m" {
			t.Errorf("got %+v, want a write-off of a or m", m)
		}
		units += m.Quantity
	}
	if units != -7 {
		t.Errorf("got %d units written off, want -7", units)
	}
	audit, err := k.store.Audit(t.Context(), sku)
	if err != nil || !audit.OK() || audit.SKUs[0].WrittenOff != 7 {
		t.Errorf("got %+v, %v, want an audit with 7 written off", audit, err)
	}
}

// retaken takes the units of an expired reservation again.
func (k *kit) retaken(when time.Time, request stock.SettleRequest) (stock.Deduction, error) {
	k.Helper()
	taken, err := k.store.Retake(k.Context(), time.Time{}, stock.Retake{SKU: sku, Layout: 1, Limit: k.limit, Request: request, At: when})
	if err != nil {
		return stock.Deduction{}, err
	}
	return taken[0], nil
}

// testRetake: units of an expired reservation are taken again if they are there, once.
func testRetake(t *testing.T, k *kit) {
	k.limit = 6
	k.create(12, 3)
	late := at.Add(time.Hour)
	buys := func(buyer, id string, units int64) stock.Order {
		return stock.Order{OrderID: id, BuyerID: buyer, Quantity: units, ReserveFor: time.Minute}
	}
	k.merge(nil, buys("x", "m", 6), buys("y", "a", 4), buys("z", "gone", 1))
	for _, wrong := range []struct {
		request stock.SettleRequest
		want    stock.Code
	}{
		{commit("none"), stock.CodeUnknownDeduction},
		{stock.SettleRequest{OrderID: "m", BuyerID: "y"}, stock.CodeUnknownDeduction},
		{stock.SettleRequest{OrderID: "m", Quantity: 7}, stock.CodeInvalidRequest},
	} {
		_, err := k.retaken(late, wrong.request)
		k.code(err, wrong.want)
	}
	for range 2 {
		d, err := k.retaken(late, commit("m"))
		if err != nil || d.Status != stock.StatusCommitted || d.Quantity != 6 {
			t.Fatalf("got %+v, %v, want 6 units committed", d, err)
		}
	}
	k.balance(late, 6, 0, 6)
	k.counted("x", 6)
	_, err := k.retaken(late, stock.SettleRequest{OrderID: "m", Quantity: 2})
	k.code(err, stock.CodeAlreadyCommitted)
	d, err := k.retaken(late, stock.SettleRequest{OrderID: "a", Quantity: 3})
	if err != nil || d.Quantity != 3 || d.Order.Quantity != 4 {
		t.Fatalf("got %+v, %v, want 3 of 4 units", d, err)
	}
	k.merge(nil, by("z", "rest", 3))
	_, err = k.retaken(late, commit("gone"))
	k.code(err, stock.CodeNotReserved) // sold meanwhile
	k.settled(late, returns("m", "", 0), stock.StatusReturned, 6, 6)
	_, err = k.retaken(late, commit("m"))
	k.code(err, stock.CodeNotReserved)
	k.merge(nil, by("z", "more", 3))
	_, err = k.retaken(late, commit("gone"))
	k.code(err, stock.CodeNotReserved) // z has six
	k.balance(late, 3, 0, 9)
	k.segmentsSum(3)
}

// testRetakeAmongMany: while more reservations have expired than one transaction ends, a retake of one that is not among them, or of
// more units than they give back, begins anew.
func testRetakeAmongMany(t *testing.T, k *kit) {
	const many = stock.ExpireLimit + 1
	k.create(many, 1)
	k.deduct(0, stock.Fence{}, reserved("all", many, time.Second))
	k.expire(at.Add(time.Second), 1)
	held := orders("r", many)
	for i := range held {
		held[i].ReserveFor = time.Minute + time.Duration(i)*time.Millisecond
	}
	k.deduct(0, stock.Fence{}, held...)
	late, last := at.Add(time.Hour), held[many-1].OrderID
	for _, id := range []string{last, "all"} {
		if _, err := k.retaken(late, commit(id)); !errors.Is(err, stock.ErrStale) {
			t.Fatalf("%s: got %v, want %v", id, err, stock.ErrStale)
		}
	}
	k.expire(late, many)
	if d, err := k.retaken(late, commit(last)); err != nil || d.Status != stock.StatusCommitted {
		t.Fatalf("got %+v, %v, want a unit committed", d, err)
	}
	_, err := k.retaken(late, commit("all"))
	k.code(err, stock.CodeNotReserved)
	k.balance(late, many-1, 0, 1)
}

// testHistory: a deduction tells what happened to it.
func testHistory(t *testing.T, k *kit) {
	k.create(20, 2)
	k.deduct(0, stock.Fence{}, reserved("a", 5, time.Minute), reserved("b", 1, time.Minute), reserved("c", 2, time.Minute), order("d", 2))
	after := func(d time.Duration) time.Time { return at.Add(d) }
	k.settle(after(10*time.Second), extend("a", "longer", time.Hour))
	k.settle(after(20*time.Second), giveBack("a", "fewer", 1), cancel("b"))
	k.settle(after(30*time.Second), commit("a"))
	k.settle(after(40*time.Second), returns("a", "back", 1))
	k.settle(after(50*time.Second), stock.SettleRequest{OrderID: "a", Verb: stock.Return, WriteOff: true, Reason: "wet"})
	k.expire(after(time.Minute), 1)
	if _, err := k.retaken(after(2*time.Minute), commit("c")); err != nil {
		t.Fatal(err)
	}
	for id, want := range map[string]string{
		"a": "reserved 5 0s, extended 0 10s longer, cancelled 1 20s fewer, committed 4 30s, returned 1 40s back, written_off 3 50s wet",
		"b": "reserved 1 0s, cancelled 1 20s",
		"c": "reserved 2 0s, expired 2 1m0s, retaken 2 2m0s",
		"d": "committed 2 0s",
	} {
		h, err := k.store.History(t.Context(), sku, id)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, e := range h.Entries() {
			got = append(got, strings.TrimRight(fmt.Sprintf("%s %d %s %s", e.Kind, e.Quantity, e.At.Sub(at), e.Ref+e.Reason), " "))
		}
		k.equal("history of "+id, strings.Join(got, ", "), want)
	}
	_, err := k.store.History(t.Context(), sku, "none")
	k.code(err, stock.CodeUnknownDeduction)
}

// testAmendTogether: what is amended in one write stands each for itself.
func testAmendTogether(_ *testing.T, k *kit) {
	k.create(120, 3)
	var requests []stock.SettleRequest
	for n := range 30 {
		id := fmt.Sprintf("o-%02d", n)
		k.deduct(n%3, stock.Fence{}, reserved(id, 3, time.Minute))
		requests = append(requests, []stock.SettleRequest{
			extend(id, "r", time.Hour), giveBack(id, "r", 1), giveBack(id, "r", 3), giveBack(id, "r", 4), commit(id), extend("not "+id, "r", time.Hour),
		}[n%6])
	}
	for n, got := range k.settle(at, requests...) {
		want := []stock.DeductionStatus{stock.StatusReserved, stock.StatusReserved, stock.StatusCancelled, "", stock.StatusCommitted, ""}[n%6]
		if got.Deduction.Status != want || (got.Err == nil) != (want != "") || got.Returned != []int64{0, 1, 3, 0, 0, 0}[n%6] {
			k.Fatalf("request %d: %+v", n, got)
		}
	}
	k.balance(at, 120-30*3+5*4, 3*5+2*5+3*5+3*5, 3*5)
	k.expire(at.Add(time.Minute), 15)
	k.expire(at.Add(time.Hour), 5)
	k.balance(at, 105, 0, 15)
}

// testExtendOrExpiry lets an extension that comes just in time race the sweep that comes just after the old end: one of them
// wins, and what was extended is there until its new end.
func testExtendOrExpiry(_ *testing.T, k *kit) {
	over := at.Add(time.Minute)
	kept := k.orExpiry(func(id string) stock.SettleRequest { return extend(id, "r", time.Hour) }, func(id string) {
		k.ends(id, over.Add(time.Hour-time.Microsecond), time.Minute)
	})
	k.balance(over, 2*races-kept, kept, 0)
	k.expire(over.Add(time.Hour), int(kept))
}

// testReturnsRace: however returns, retries of them, a commit and a cancel meet, each unit comes back once.
func testReturnsRace(_ *testing.T, k *kit) {
	const rounds = 30
	k.create(12, 4)
	for n := range rounds {
		id := fmt.Sprintf("o-%d", n)
		k.merge(nil, order(id, 7))
		var got [5]stock.Settled
		k.together(
			k.settling(at, returns(id, "a", 3), &got[0]),
			k.settling(at, returns(id, "a", 3), &got[1]),
			k.settling(at, returns(id, "b", 3), &got[2]),
			k.settling(at, returns(id, "c", 3), &got[3]), // more than is left
			k.settling(at, commit(id), &got[4]),
		)
		var back, refused int64
		for _, g := range got[:4] {
			if back += g.Returned; g.Err != nil {
				k.code(g.Err, stock.CodeInvalidRequest)
				refused++
			}
		}
		if back != 6 || refused == 0 || refused > 2 || got[4].Err != nil {
			k.Fatalf("round %d: %d units back: %+v", n, back, got)
		}
		k.balance(at, 11, 0, 1)
		k.settled(at, returns(id, "", 0), stock.StatusReturned, 1, 1)
		k.segmentsSum(12)
	}
}

// testCancelOfAPartOrOfAll: each unit that is not committed comes back once, whoever comes first.
func testCancelOfAPartOrOfAll(_ *testing.T, k *kit) {
	const rounds = 30
	k.create(10, 4)
	for n := range rounds {
		id := fmt.Sprintf("o-%d", n)
		k.merge(nil, reserved(id, 5, time.Minute))
		var got [3]stock.Settled
		k.together(
			k.settling(at, giveBack(id, "a", 2), &got[0]),
			k.settling(at, cancel(id), &got[1]),
			k.settling(at, stock.SettleRequest{OrderID: id, Quantity: 3}, &got[2]),
		)
		back := got[0].Returned + got[1].Returned + got[2].Returned
		if got[2].Err == nil { // the commit was before the cancel of all
			k.code(got[1].Err, stock.CodeAlreadyCommitted)
			k.equal("units back", fmt.Sprint(back), "2")
			k.settled(at, returns(id, "", 0), stock.StatusReturned, 3, 3)
		} else {
			k.code(got[2].Err, stock.CodeNotReserved)
			k.equal("units back", fmt.Sprint(back, got[1].Err), "5 <nil>")
		}
		k.balance(at, 10, 0, 0)
		k.segmentsSum(10)
	}
}

// testAuditSeesAmendments damages what is known of returns.
func testAuditSeesAmendments(_ *testing.T, k *kit) {
	k.create(20, 2)
	k.deduct(0, stock.Fence{}, reserved("a", 4, time.Minute), order("b", 3), order("c", 2))
	k.settle(at, giveBack("a", "r", 1), returns("b", "r", 1), returns("c", "r", 2))
	k.sees(
		damage{"UPDATE amendments SET returned = 2 WHERE order_id = 'a'", "UPDATE amendments SET returned = 1 WHERE order_id = 'a'", 0},
		damage{"UPDATE amendments SET returned = 2 WHERE order_id = 'b'", "UPDATE amendments SET returned = 1 WHERE order_id = 'b'", 0},
		damage{"UPDATE amendments SET returned = 3 WHERE order_id = 'c'", "UPDATE amendments SET returned = 2 WHERE order_id = 'c'", 0},
		damage{"UPDATE deductions SET asked = 5 WHERE order_id = 'a'", "UPDATE deductions SET asked = 4 WHERE order_id = 'a'", 0},
	)
}
