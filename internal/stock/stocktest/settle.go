package stocktest

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"inventory/internal/stock"
)

// reserved is an order that reserves.
func reserved(id string, quantity int64, reserveFor time.Duration) stock.Order {
	return stock.Order{OrderID: id, Quantity: quantity, ReserveFor: reserveFor}
}

func commit(id string) stock.SettleRequest { return stock.SettleRequest{OrderID: id} }

// commitOf commits a part.
func commitOf(id string, units int64) stock.SettleRequest {
	return stock.SettleRequest{OrderID: id, Quantity: units}
}

func cancel(id string) stock.SettleRequest {
	return stock.SettleRequest{OrderID: id, Verb: stock.Cancel}
}

// giveBack gives units of a deduction back, under a ref.
func giveBack(id, ref string, units int64) stock.SettleRequest {
	return stock.SettleRequest{OrderID: id, Ref: ref, Verb: stock.Cancel, Quantity: units}
}

// returns returns committed units; with 0 all, and without a ref.
func returns(id, ref string, units int64) stock.SettleRequest {
	return stock.SettleRequest{OrderID: id, Ref: ref, Verb: stock.Return, Quantity: units}
}

// writesOff is a return of units that are not sold again.
func writesOff(id, ref string, units int64) stock.SettleRequest {
	return stock.SettleRequest{OrderID: id, Verb: stock.Return, Ref: ref, Quantity: units, WriteOff: true, Reason: "damaged"}
}

// extend reserves for so long from the decision on, under a ref.
func extend(id, ref string, reserveFor time.Duration) stock.SettleRequest {
	return stock.SettleRequest{OrderID: id, Ref: ref, Verb: stock.Extend, ExtendFor: reserveFor}
}

// ofBuyer is a request that is for a deduction of one buyer.
func ofBuyer(buyer string, request stock.SettleRequest) stock.SettleRequest {
	request.BuyerID = buyer
	return request
}

// settle settles requests at an instant.
func (k *kit) settle(at time.Time, requests ...stock.SettleRequest) []stock.Settled {
	k.t.Helper()
	return k.settleOf(sku, at, requests...)
}

func (k *kit) settleOf(sku string, at time.Time, requests ...stock.SettleRequest) []stock.Settled {
	k.t.Helper()
	results, err := k.store.Settle(k.t.Context(), stock.Settlement{SKU: sku, At: at, Requests: requests})
	if err != nil || len(results) != len(requests) {
		k.t.Fatalf("settle: %d results of %d requests, %v", len(results), len(requests), err)
	}
	return results
}

// settled settles one request, and checks the state, the units and what went back.
func (k *kit) settled(at time.Time, request stock.SettleRequest, status stock.DeductionStatus, quantity, back int64) {
	k.t.Helper()
	got := k.settle(at, request)[0]
	if got.Err != nil || got.Deduction.Status != status || got.Deduction.Quantity != quantity || got.Returned != back {
		k.t.Fatalf("%+v: got %+v, want %s with %d units, %d back", request, got, status, quantity, back)
	}
}

// refuses checks that requests are refused at an instant, and that nothing goes back.
func (k *kit) refuses(at time.Time, want stock.Code, requests ...stock.SettleRequest) {
	k.t.Helper()
	for _, request := range requests {
		got := k.settle(at, request)[0]
		if stock.CodeOf(got.Err) != want || got.Returned != 0 {
			k.t.Fatalf("%+v: got %+v, want it refused with %s", request, got, want)
		}
	}
}

// balance checks what is available, reserved and committed at an instant.
func (k *kit) balance(at time.Time, available, reserved, committed int64) {
	k.t.Helper()
	status := k.status(sku, at)
	k.equal("available, reserved, committed", []int64{status.Available, status.Reserved, status.Committed},
		[]int64{available, reserved, committed})
	k.equal("available by segment", sum(status.Segments), available)
	k.equal("in the segments", k.available(sku), available)
}

// expire gives back what has expired at an instant.
func (k *kit) expire(at time.Time, want int) {
	k.t.Helper()
	got, err := k.store.Expire(k.t.Context(), sku, at)
	if err != nil || got != want {
		k.t.Fatalf("expire: got %d, %v, want %d", got, err, want)
	}
}

// read reads a deduction, and checks what each segment gave.
func (k *kit) read(id string, parts ...stock.Part) stock.Deduction {
	k.t.Helper()
	d := k.deduction(id)
	k.equal("parts of "+id, d.Parts, parts)
	return d
}

// deduction reads a deduction.
func (k *kit) deduction(id string) stock.Deduction {
	k.t.Helper()
	d, err := k.store.Deduction(k.t.Context(), sku, id)
	if err != nil {
		k.t.Fatalf("read %s: %v", id, err)
	}
	return d
}

func (k *kit) state(id string) stock.DeductionStatus {
	k.t.Helper()
	return k.deduction(id).Status
}

// ends checks when a reservation ends, and for how long its order asked.
func (k *kit) ends(id string, end time.Time, asked time.Duration) {
	k.t.Helper()
	found, err := k.store.Deductions(k.t.Context(), sku, []string{id})
	if d := found[id]; err != nil || !d.ExpiresAt.Equal(end) || d.ReserveFor != asked {
		k.t.Fatalf("%s ends at %s and asked for %s, %v, want %s and %s", id, d.ExpiresAt, d.ReserveFor, err, end, asked)
	}
}

// testReserve: a reservation may be as long and as short as any.
func testReserve(t *testing.T, k *kit) {
	k.create(20, 2)
	k.deduct(0, stock.Fence{}, reserved("r", 3, time.Minute), order("c", 1))
	if d := k.read("c", stock.Part{Quantity: 1}); d.ReserveFor != 0 || !d.ExpiresAt.IsZero() {
		t.Errorf("a plain deduction expires: %+v", d)
	}
	k.balance(at, 16, 3, 1)
	k.equal("long", told(k.deduct(1, stock.Fence{}, reserved("s", 1, stock.MaxReserve), reserved("t", 100, time.Hour))), "accepted, short 9")
	k.ends("s", at.Add(stock.MaxReserve), stock.MaxReserve)
	k.equal("short", told(k.merge(nil, reserved("m", 14, time.Microsecond))), "accepted")
	k.balance(at, 1, 18, 1)
}

// testExpire: what has expired counts as reserved until a write has ended it, and the status says that somebody should.
func testExpire(_ *testing.T, k *kit) {
	k.create(10, 2)
	k.deduct(0, stock.Fence{}, reserved("a", 2, time.Minute), reserved("b", 1, time.Hour), order("c", 1))
	k.merge(nil, reserved("m", 5, time.Minute))
	minute := at.Add(time.Minute)
	stale := func(when time.Time, want bool) {
		k.t.Helper()
		k.equal("stale", k.status(sku, when).Stale, want)
		k.balance(when, 1, 8, 1)
	}
	k.expire(at, 0)
	stale(minute.Add(-time.Microsecond), false)
	stale(minute, true)
	before, _, _ := k.soldOut(0)
	k.expire(minute, 2)
	if after, _, _ := k.soldOut(0); after[0] <= before[0] || after[1] <= before[1] {
		k.t.Errorf("versions: %v, then %v", before, after)
	}
	k.expire(minute, 0)
	k.balance(minute, 8, 1, 1)
	k.equal("stale", k.status(sku, minute).Stale, false)
	if d := k.read("a", stock.Part{Quantity: 2}); d.Status != stock.StatusExpired || !d.ExpiresAt.Equal(minute) {
		k.t.Errorf("expired: %+v", d)
	}
	k.equal("b", k.state("b"), stock.StatusReserved)
	k.equal("an expired order id", told(k.deduct(0, stock.Fence{}, reserved("a", 1, time.Second))), "known")
}

// testMergeTakesBackFirst: units of expired reservations are sold by the very merge that finds them.
func testMergeTakesBackFirst(t *testing.T, k *kit) {
	k.create(7, 3)
	k.merge(nil, reserved("a", 4, time.Second), reserved("b", 2, time.Minute), reserved("l", 1, 2*time.Hour))
	for _, c := range []struct {
		after  time.Duration
		orders []stock.Order
		want   string
		left   int64
		until  time.Duration // the next expiry, if nothing is left; 0: none
	}{
		{time.Second, []stock.Order{order("c", 3), order("d", 2)}, "accepted, short 1", 1, 0},
		{time.Minute, []stock.Order{reserved("e", 2, time.Hour), order("f", 1)}, "accepted, accepted", 0, time.Hour + time.Minute},
		{time.Hour + time.Minute, orders("g", 3), "accepted, accepted, short 0", 0, 2 * time.Hour},
		{2 * time.Hour, orders("h", 1), "accepted", 0, 0},
	} {
		merge := k.merging(nil, c.orders...)
		merge.At = at.Add(c.after)
		result, err := k.store.Merge(t.Context(), merge)
		if err != nil {
			t.Fatal(err)
		}
		until := time.Time{}
		if c.until > 0 {
			until = at.Add(c.until)
		}
		k.equal("merge, expired, left", fmt.Sprint(told(result), result.Expired, sum(result.Segments)), fmt.Sprint(c.want, 1, c.left))
		k.equal("next expiry", result.NextExpiry.UTC(), until)
	}
	k.balance(at.Add(2*time.Hour), 0, 0, 7)
}

func testCommit(_ *testing.T, k *kit) {
	k.create(12, 3)
	k.deduct(1, stock.Fence{}, reserved("a", 3, time.Minute))
	k.merge(nil, reserved("m", 7, time.Minute)) // 4 of 0, 3 of 2
	k.deduct(1, stock.Fence{}, order("b", 1))
	k.settled(at, commitOf("a", 1), stock.StatusCommitted, 1, 2)
	first, second := k.deduction("m").Parts[0], k.deduction("m").Parts[1]
	units := first.Quantity + 1
	k.settled(at, commitOf("m", units), stock.StatusCommitted, units, 7-units)
	if d := k.read("m", first, stock.Part{Segment: second.Segment, Quantity: 1}); d.Order.Quantity != 7 || d.Quantity != units {
		k.t.Errorf("merged, in part: %+v", d)
	}
	// The very commit again is no error, another one is.
	k.settled(at, commitOf("a", 1), stock.StatusCommitted, 1, 0)
	k.refuses(at, stock.CodeAlreadyCommitted, commitOf("a", 2))
	d := k.read("a", stock.Part{Segment: 1, Quantity: 1})
	if d.Order.Quantity != 3 || d.ReserveFor != time.Minute || !d.ExpiresAt.Equal(at.Add(time.Minute)) {
		k.t.Errorf("after the commit: %+v", d)
	}
	k.equal("a replay is told what it asked", k.deduct(1, stock.Fence{}, reserved("a", 3, time.Minute)).Outcomes[0].Deduction.Order.Quantity, 3)
	// A commit of all touches no segment, and outlives the reservation.
	k.deduct(1, stock.Fence{}, reserved("all", 1, time.Minute))
	before, _, _ := k.soldOut(0)
	for range 2 {
		k.settled(at, commit("all"), stock.StatusCommitted, 1, 0)
	}
	k.settled(at, commit("b"), stock.StatusCommitted, 1, 0)
	after, _, _ := k.soldOut(0)
	k.equal("versions", after, before)
	k.settled(at.Add(time.Hour), commit("all"), stock.StatusCommitted, 1, 0)
	k.expire(at.Add(time.Hour), 0)
	k.balance(at, 12-1-units-2, 0, 1+units+2)
	// Kept units can be returned to the segments that gave them.
	k.settled(at, returns("m", "", 0), stock.StatusReturned, units, units)
	k.settled(at, returns("a", "", 0), stock.StatusReturned, 1, 1)
	k.balance(at, 10, 0, 2)
}

// testSettleRefuses has an order in each state, and refuses what is not for it.
func testSettleRefuses(t *testing.T, k *kit) {
	k.create(20, 1)
	k.deduct(0, stock.Fence{}, reserved("reserved", 2, time.Hour), reserved("cancelled", 2, time.Hour))
	k.deduct(0, stock.Fence{}, order("committed", 1), order("returned", 1))
	k.deduct(0, stock.Fence{}, reserved("over", 1, time.Minute), reserved("over too", 1, time.Minute), by("x", "x's", 1))
	k.settle(at, returns("returned", "", 0), cancel("cancelled"))
	k.balance(at, 14, 4, 2)
	minute := at.Add(time.Minute)
	bounded := extend("reserved", "r", time.Hour+time.Second)
	bounded.MostExtend = time.Hour
	for want, requests := range map[stock.Code][]stock.SettleRequest{
		stock.CodeInvalidRequest: {commitOf("reserved", 3), giveBack("reserved", "r", 3), returns("committed", "r", 2), bounded},
		stock.CodeNotReserved: {
			commit("cancelled"),
			extend("cancelled", "r", time.Hour), extend("committed", "r", time.Hour), extend("returned", "r", time.Hour),
		},
		stock.CodeNotCommitted: {
			returns("reserved", "", 0), returns("reserved", "r", 1), returns("cancelled", "", 0), returns("returned", "r", 1),
		},
		stock.CodeAlreadyCommitted: {cancel("committed"), giveBack("committed", "r", 1), cancel("returned"), commit("returned")},
		stock.CodeRefReused:        {writesOff("returned", "", 0)},
		stock.CodeUnknownDeduction: {
			commit("none"), cancel("none"), extend("none", "r", time.Hour), returns("none", "", 0),
			ofBuyer("y", commit("x's")), ofBuyer("y", cancel("x's")), ofBuyer("y", extend("reserved", "r", time.Hour)),
		},
	} {
		k.refuses(minute, want, requests...)
	}
	k.balance(minute, 14, 4, 2)
	// An operation that finds that its time has come ends it.
	for id, request := range map[string]stock.SettleRequest{"over": commit("over"), "over too": extend("over too", "r", time.Hour)} {
		ended := k.settle(minute, request)[0]
		k.equal(id, []any{stock.CodeOf(ended.Err), ended.Returned, k.state(id)}, []any{stock.CodeNotReserved, 1, stock.StatusExpired})
		k.refuses(minute, stock.CodeNotReserved, request)
		k.settled(minute, cancel(id), stock.StatusExpired, 1, 0)
	}
	k.expire(minute, 0)
	k.settled(minute, cancel("cancelled"), stock.StatusCancelled, 2, 0) // again
	k.settled(minute, returns("returned", "", 0), stock.StatusReturned, 1, 0)
	k.equal("ended order ids", told(k.deduct(0, stock.Fence{}, order("cancelled", 2), order("returned", 1))), "known, known")
	k.balance(minute, 16, 2, 2)
	// A refused request has left its ref free, and a replay is answered under a lower bound too.
	k.settled(at, ofBuyer("x", returns("x's", "", 0)), stock.StatusReturned, 1, 1)
	bounded.MostExtend, bounded.ExtendFor = time.Hour, time.Hour
	k.settled(at, bounded, stock.StatusReserved, 2, 0)
	bounded.MostExtend = time.Second
	k.settled(at, bounded, stock.StatusReserved, 2, 0)
	_, err := k.store.Settle(t.Context(), stock.Settlement{SKU: "nope", At: at, Requests: []stock.SettleRequest{commit("a")}})
	k.code(err, stock.CodeUnknownSKU)
}

// testSettleTogether: what is settled in one write stands each for itself, and one refused request costs its neighbours nothing.
func testSettleTogether(_ *testing.T, k *kit) {
	kinds := []struct {
		request func(id string) stock.SettleRequest
		status  stock.DeductionStatus
		units   int64
		back    int64
	}{
		{commit, stock.StatusCommitted, 3, 0},
		{cancel, stock.StatusCancelled, 3, 3},
		{func(id string) stock.SettleRequest { return commitOf(id, 1) }, stock.StatusCommitted, 1, 2},
		{func(id string) stock.SettleRequest { return commit("not " + id) }, "", 0, 0},
		{func(id string) stock.SettleRequest { return extend(id, "r", time.Hour) }, stock.StatusReserved, 3, 0},
		{func(id string) stock.SettleRequest { return giveBack(id, "r", 1) }, stock.StatusReserved, 2, 1},
		{func(id string) stock.SettleRequest { return giveBack(id, "r", 3) }, stock.StatusCancelled, 3, 3},
		{func(id string) stock.SettleRequest { return giveBack(id, "r", 4) }, "", 0, 0},
	}
	const each = 32
	k.create(900, 3)
	var requests []stock.SettleRequest
	for n := range each * len(kinds) {
		id := fmt.Sprintf("o-%03d", n)
		k.deduct(n%3, stock.Fence{}, reserved(id, 3, time.Minute))
		requests = append(requests, kinds[n%len(kinds)].request(id))
	}
	for n, got := range k.settle(at, requests...) {
		want := kinds[n%len(kinds)]
		d := got.Deduction
		same := d.Status == want.status && d.Quantity == want.units && got.Returned == want.back
		if !same || (got.Err == nil) != (want.status != "") {
			k.t.Fatalf("request %d, %+v: %+v", n, requests[n], got)
		}
	}
	k.balance(at, 900-(3*8-9)*each, (3+3+2+3)*each, (3+1)*each)
	k.expire(at.Add(time.Minute), 3*each)
	k.expire(at.Add(time.Hour), each)
	k.balance(at, 900-4*each, 0, 4*each)
}

// testExtend: an extension happens once for its ref, and never shortens.
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
	after, _, _ := k.soldOut(0)
	k.equal("versions", after, before)
	k.refuses(half, stock.CodeRefReused, extend("a", "r", time.Hour+time.Microsecond), giveBack("a", "r", 1))
	late := half.Add(time.Hour - time.Second)
	for _, when := range []time.Time{half, late} { // it has happened then
		k.settled(when, extend("a", "short", time.Second), stock.StatusReserved, 2, 0)
		k.ends("a", half.Add(time.Hour), time.Minute)
	}
	// Each deduction has its own refs.
	k.settled(at, extend("m", "r", time.Minute), stock.StatusReserved, 7, 0)
	k.ends("m", at.Add(2*time.Minute), 2*time.Minute)
	k.equal("a replay of the order", k.deduct(0, stock.Fence{}, order).Outcomes[0].Deduction.Answers(order), true)
	k.expire(at.Add(2*time.Minute), 1) // the other one
	k.expire(half.Add(time.Hour-time.Microsecond), 0)
	k.balance(late, 7, 2, 0)
	k.expire(half.Add(time.Hour), 1)
	k.settled(half.Add(2*time.Hour), extend("a", "r", time.Hour), stock.StatusExpired, 2, 0)
}

// testParts gives up and returns one part after another, each once for its ref, until nothing is left.
func testParts(_ *testing.T, k *kit) {
	k.limit = 7
	k.create(12, 3)
	order := by("x", "m", 7)
	order.ReserveFor = time.Minute
	k.merge(nil, order, by("y", "c", 5))
	for _, back := range []int64{2, 0} { // the second one finds it done
		k.settled(at, giveBack("m", "1", 2), stock.StatusReserved, 5, back)
		k.balance(at, 2, 5, 5)
	}
	k.counted("x", 5)
	k.settled(at, giveBack("m", "2", 1), stock.StatusReserved, 4, 1)
	k.settled(at, giveBack("m", "3", 1), stock.StatusReserved, 3, 1) // of one segment by now
	k.ends("m", at.Add(time.Minute), time.Minute)
	k.equal("a replay of the order", k.deduct(0, stock.Fence{}, order).Outcomes[0].Deduction.Answers(order), true)
	k.refuses(at, stock.CodeRefReused, giveBack("m", "3", 2), extend("m", "3", time.Hour))

	k.settled(at, commitOf("m", 2), stock.StatusCommitted, 2, 1) // of what is left
	k.balance(at, 5, 0, 7)
	k.settled(at, giveBack("m", "3", 1), stock.StatusCommitted, 2, 0) // a retry from before the commit
	k.settled(at, returns("c", "1", 2), stock.StatusCommitted, 3, 2)
	k.settled(at.Add(time.Hour), returns("m", "5", 1), stock.StatusCommitted, 1, 1)
	k.settled(at, commitOf("m", 2), stock.StatusCommitted, 1, 0) // a retry of the commit
	k.settled(at, commit("m"), stock.StatusCommitted, 1, 0)
	k.refuses(at, stock.CodeAlreadyCommitted, commitOf("m", 1))
	k.counted("x", 1)
	k.counted("y", 3)

	k.settled(at, returns("m", "6", 1), stock.StatusReturned, 1, 1) // the last units
	k.settled(at, returns("c", "", 0), stock.StatusReturned, 3, 3)  // the rest
	k.settled(at, returns("m", "6", 1), stock.StatusReturned, 1, 0)
	k.settled(at, giveBack("m", "1", 2), stock.StatusReturned, 1, 0)
	k.settled(at, returns("c", "", 0), stock.StatusReturned, 3, 0)
	k.settled(at, returns("c", "1", 2), stock.StatusReturned, 3, 0)
	k.counted("x", 0)
	k.balance(at, 12, 0, 0)
}

// testWriteOff: units that are written off are not sold again, count for no buyer, and stand in the ledger and the audit.
func testWriteOff(t *testing.T, k *kit) {
	k.limit = 5
	k.create(12, 3)
	k.deduct(1, stock.Fence{}, by("x", "a", 3))
	k.merge(nil, by("y", "m", 5))
	for range 2 {
		k.settled(at, writesOff("a", "1", 1), stock.StatusCommitted, 2, 0)
		k.settled(at, writesOff("m", "", 0), stock.StatusReturned, 5, 0)
	}
	k.refuses(at, stock.CodeRefReused, returns("a", "1", 1))
	k.settled(at, writesOff("a", "2", 1), stock.StatusCommitted, 1, 0)
	k.settled(at, returns("a", "", 0), stock.StatusReturned, 1, 1)
	k.counted("x", 0)
	k.counted("y", 0)
	k.equal("available", k.available(sku), 5)
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
	k.equal("units written off", units, -7)
	k.equal("in the audit", k.audited(sku).SKUs[0].WrittenOff, 7)
}

// retaken takes the units of an expired reservation again.
func (k *kit) retaken(when time.Time, request stock.SettleRequest) (stock.Deduction, error) {
	k.t.Helper()
	taken, err := k.store.Retake(k.t.Context(), time.Time{}, stock.Retake{SKU: sku, Layout: k.layout, Limit: k.limit, Request: request, At: when})
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
	m, a, gone := by("x", "m", 6), by("y", "a", 4), by("z", "gone", 1)
	m.ReserveFor, a.ReserveFor, gone.ReserveFor = time.Minute, time.Minute, time.Minute
	k.merge(nil, m, a, gone)
	refuses := func(want stock.Code, requests ...stock.SettleRequest) {
		t.Helper()
		for _, request := range requests {
			_, err := k.retaken(late, request)
			k.code(err, want)
		}
	}
	refuses(stock.CodeUnknownDeduction, commit("none"), ofBuyer("y", commit("m")))
	refuses(stock.CodeInvalidRequest, commitOf("m", 7))
	for range 2 {
		d, err := k.retaken(late, commit("m"))
		if err != nil || d.Status != stock.StatusCommitted || d.Quantity != 6 {
			t.Fatalf("got %+v, %v, want 6 units committed", d, err)
		}
	}
	k.balance(late, 6, 0, 6)
	k.counted("x", 6)
	refuses(stock.CodeAlreadyCommitted, commitOf("m", 2))
	d, err := k.retaken(late, commitOf("a", 3))
	if err != nil || d.Quantity != 3 || d.Order.Quantity != 4 {
		t.Fatalf("got %+v, %v, want 3 of 4 units", d, err)
	}
	k.merge(nil, by("z", "rest", 3))
	refuses(stock.CodeNotReserved, commit("gone")) // sold meanwhile
	k.settled(late, returns("m", "", 0), stock.StatusReturned, 6, 6)
	refuses(stock.CodeAlreadyCommitted, commit("m"))
	k.merge(nil, by("z", "more", 3))
	refuses(stock.CodeNotReserved, commit("gone")) // z has six
	k.balance(late, 3, 0, 9)
}

// testRetakeOfACancelled: units of a reservation that was cancelled, at once or in parts, are taken again if the caller says so, and
// never those of a return.
func testRetakeOfACancelled(t *testing.T, k *kit) {
	k.create(12, 3)
	later := at.Add(30 * time.Second)
	k.merge(nil, reserved("whole", 6, time.Minute), reserved("parts", 5, time.Minute), order("returned", 1))
	k.settle(at, cancel("whole"), giveBack("parts", "a", 2), returns("returned", "", 0))
	k.settle(later, giveBack("parts", "b", 3))
	onlyExpired := commit("whole")
	onlyExpired.OnlyExpired = true
	for want, request := range map[stock.Code]stock.SettleRequest{
		stock.CodeNotReserved: onlyExpired, stock.CodeInvalidRequest: commitOf("parts", 4), stock.CodeAlreadyCommitted: commit("returned"),
	} {
		_, err := k.retaken(later, request)
		k.code(err, want)
	}
	for id, units := range map[string]int64{"whole": 6, "parts": 3} {
		for range 2 {
			d, err := k.retaken(at.Add(time.Hour), commit(id))
			if err != nil || d.Status != stock.StatusCommitted || d.Quantity != units {
				t.Fatalf("got %+v, %v, want %d units committed", d, err, units)
			}
		}
	}
	k.settle(at.Add(2*time.Hour), returns("whole", "one", 1))
	k.balance(later, 4, 0, 8)
	k.told("whole", "reserved 6 0s, cancelled 6 0s, retaken 6 1h0m0s, returned 1 2h0m0s one")
	k.told("parts", "reserved 5 0s, cancelled 2 0s a, cancelled 3 30s b, retaken 3 1h0m0s")
	k.audited(sku)
}

// testRetakeAmongMany: while more reservations have expired than one transaction ends, a retake of one that is not among them, of more
// units than they give back, or by a buyer who is at the limit because of others of them, begins anew.
func testRetakeAmongMany(t *testing.T, k *kit) {
	const many = stock.ExpireLimit + 1
	k.limit = many
	k.create(many+1, 1)
	all, first := by("all", "all", many), by("x", "first", many-1)
	for _, o := range []stock.Order{all, first} {
		o.ReserveFor = time.Second
		k.deduct(0, stock.Fence{}, o)
		k.expire(at.Add(time.Second), 1)
	}
	held := orders("r", many)
	for i := range held {
		held[i].BuyerID, held[i].ReserveFor = fmt.Sprint(i), time.Minute+time.Duration(i)*time.Millisecond
	}
	held[many-1].BuyerID, held[many-1].Quantity = "x", 2
	k.deduct(0, stock.Fence{}, held...)
	late, last := at.Add(time.Hour), held[many-1].OrderID
	for _, id := range []string{last, "all", "first"} {
		if _, err := k.retaken(late, commit(id)); !errors.Is(err, stock.ErrStale) {
			t.Fatalf("%s: got %v, want %v", id, err, stock.ErrStale)
		}
	}
	k.expire(late, many)
	if d, err := k.retaken(late, commit(last)); err != nil || d.Status != stock.StatusCommitted {
		t.Fatalf("got %+v, %v, want two units committed", d, err)
	}
	_, err := k.retaken(late, commit("all"))
	k.code(err, stock.CodeNotReserved)
	k.balance(late, many-1, 0, 2)
}

// told checks the history of a deduction.
func (k *kit) told(id, want string) {
	k.t.Helper()
	h, err := k.store.History(k.t.Context(), sku, id)
	if err != nil {
		k.t.Fatal(err)
	}
	var got []string
	for _, e := range h.Entries() {
		got = append(got, strings.TrimRight(fmt.Sprintf("%s %d %s %s", e.Kind, e.Quantity, e.At.Sub(at), e.Ref+e.Reason), " "))
	}
	k.equal("history of "+id, strings.Join(got, ", "), want)
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
	k.settle(after(50*time.Second), writesOff("a", "", 0))
	k.expire(after(time.Minute), 1)
	if _, err := k.retaken(after(2*time.Minute), commit("c")); err != nil {
		t.Fatal(err)
	}
	for id, want := range map[string]string{
		"a": "reserved 5 0s, extended 0 10s longer, cancelled 1 20s fewer, committed 4 30s, returned 1 40s back, written_off 3 50s damaged",
		"b": "reserved 1 0s, cancelled 1 20s",
		"c": "reserved 2 0s, expired 2 1m0s, retaken 2 2m0s",
		"d": "committed 2 0s",
	} {
		k.told(id, want)
	}
	_, err := k.store.History(t.Context(), sku, "none")
	k.code(err, stock.CodeUnknownDeduction)
}
