package stocktest

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"inventory/internal/stock"
)

// reserved is an order that reserves.
func reserved(id string, quantity int64, reserveFor time.Duration) stock.Order {
	return stock.Order{OrderID: id, Quantity: quantity, ReserveFor: reserveFor}
}

func commit(id string) stock.SettleRequest { return stock.SettleRequest{OrderID: id} }

func cancel(id string) stock.SettleRequest {
	return stock.SettleRequest{OrderID: id, Verb: stock.Cancel}
}

// settle settles requests at an instant.
func (k *kit) settle(at time.Time, requests ...stock.SettleRequest) []stock.Settled {
	k.Helper()
	results, err := k.store.Settle(k.Context(), stock.Settlement{SKU: sku, At: at, Requests: requests})
	if err != nil || len(results) != len(requests) {
		k.Fatalf("settle: %d results of %d requests, %v", len(results), len(requests), err)
	}
	return results
}

// settled settles one request, and checks the state, the units and what went back.
func (k *kit) settled(at time.Time, request stock.SettleRequest, status stock.DeductionStatus, quantity, back int64) {
	k.Helper()
	got := k.settle(at, request)[0]
	if got.Err != nil || got.Deduction.Status != status || got.Deduction.Quantity != quantity || got.Returned != back {
		k.Fatalf("%+v: got %+v, want %s with %d units, %d back", request, got, status, quantity, back)
	}
}

// balance checks what is available, reserved and committed at an instant.
func (k *kit) balance(at time.Time, available, reserved, committed int64) {
	k.Helper()
	status, err := k.store.Status(k.Context(), sku, at)
	if err != nil {
		k.Fatalf("status: %v", err)
	}
	k.equal("available, reserved, committed", fmt.Sprint(status.Available, status.Reserved, status.Committed),
		fmt.Sprint(available, reserved, committed))
	k.equal("available by segment", fmt.Sprint(sum(status.Segments)), fmt.Sprint(available))
}

// expire gives back what has expired at an instant.
func (k *kit) expire(at time.Time, want int) {
	k.Helper()
	got, err := k.store.Expire(k.Context(), sku, at)
	if err != nil || got != want {
		k.Fatalf("expire: got %d, %v, want %d", got, err, want)
	}
}

// read reads a deduction, and checks what each segment gave.
func (k *kit) read(id string, parts ...stock.Part) stock.Deduction {
	k.Helper()
	d, err := k.store.Deduction(k.Context(), sku, id)
	if err != nil {
		k.Fatalf("read %s: %v", id, err)
	}
	k.equal("parts of "+id, fmt.Sprint(d.Parts), fmt.Sprint(parts))
	return d
}

func testReserve(t *testing.T, k *kit) {
	k.create(20, 2)
	const hold = 90 * time.Second
	o := stock.Order{OrderID: "r", BuyerID: "x", Quantity: 3, ReserveFor: hold}
	result := k.deduct(0, stock.Fence{}, o, order("c", 1))
	k.outcomes(result.Outcomes, stock.Accepted, stock.Accepted)
	want := stock.Deduction{
		SKU: sku, Order: stock.Order{OrderID: "r", BuyerID: "x", Quantity: 3, ReserveFor: hold},
		Quantity: 3, Status: stock.StatusReserved, ExpiresAt: at.Add(hold),
	}
	k.equal("accepted", fmt.Sprintf("%+v", result.Outcomes[0].Deduction), fmt.Sprintf("%+v", want))
	known := k.deduct(1, stock.Fence{}, o).Outcomes[0]
	k.equal("known", fmt.Sprintf("%+v", known.Deduction), fmt.Sprintf("%+v", want))
	found, err := k.store.Deductions(t.Context(), sku, []string{"r", "c"})
	if err != nil || fmt.Sprintf("%+v", found["r"]) != fmt.Sprintf("%+v", want) || found["c"].Status != stock.StatusCommitted {
		t.Errorf("look-up: got %+v, %v", found, err)
	}
	want.Parts = []stock.Part{{Segment: 0, Quantity: 3}}
	k.equal("read", fmt.Sprintf("%+v", k.read("r", want.Parts...)), fmt.Sprintf("%+v", want))
	if d := k.read("c", stock.Part{Quantity: 1}); d.ReserveFor != 0 || !d.ExpiresAt.IsZero() {
		t.Errorf("a plain deduction expires: %+v", d)
	}
	k.balance(at, 16, 3, 1)
	// So do a batch that does not fit whole, and a merge.
	result = k.deduct(1, stock.Fence{}, reserved("s", 1, stock.MaxReserve), reserved("t", 100, hold))
	k.outcomes(result.Outcomes, stock.Accepted, stock.Short)
	if d := result.Outcomes[0].Deduction; d.Status != stock.StatusReserved || !d.ExpiresAt.Equal(at.Add(stock.MaxReserve)) {
		t.Errorf("reserved for long: %+v", d)
	}
	k.outcomes(k.merge(nil, reserved("m", 14, time.Microsecond)).Outcomes, stock.Accepted)
	k.balance(at, 1, 18, 1)
}

// testStale: what has expired counts as reserved until a write has ended it, and the status says that somebody should.
func testStale(t *testing.T, k *kit) {
	k.create(10, 2)
	k.deduct(0, stock.Fence{}, reserved("a", 2, time.Minute), reserved("b", 1, time.Hour))
	k.merge(nil, reserved("c", 6, time.Minute))
	last := at.Add(time.Minute)
	stale := func(when time.Time, want bool) {
		status, err := k.store.Status(t.Context(), sku, when)
		if err != nil || status.Stale != want {
			t.Errorf("at %s: got stale %t, %v", when, status.Stale, err)
		}
	}
	k.balance(last.Add(-time.Microsecond), 1, 9, 0)
	stale(last.Add(-time.Microsecond), false)
	k.balance(last, 1, 9, 0)
	stale(last, true)
	k.segmentsSum(1)
	k.expire(last, 2)
	k.segments(4, 5)
	k.balance(last, 9, 1, 0)
	stale(last, false)
}

// segmentsSum checks what the rows of the segments hold.
func (k *kit) segmentsSum(want int64) {
	k.Helper()
	views, err := k.store.Views(k.Context(), sku)
	if err != nil || sum(views[sku].Segments) != want {
		k.Fatalf("segments: got %v, %v, want %d in all", views[sku].Segments, err, want)
	}
}

func testExpire(t *testing.T, k *kit) {
	k.create(10, 2)
	k.deduct(1, stock.Fence{}, reserved("a", 1, time.Second), reserved("b", 2, time.Minute), order("c", 1))
	k.merge(nil, reserved("m", 6, time.Second))
	k.expire(at, 0)
	second := at.Add(time.Second)
	before, _, _ := k.soldOut(0)
	k.expire(second, 2)
	if after, _, _ := k.soldOut(0); slices.Max(after) <= slices.Min(before) {
		t.Errorf("versions: %v, then %v", before, after)
	}
	k.expire(second, 0)
	k.balance(second, 7, 2, 1)
	k.segmentsSum(7)
	if d := k.read("a", stock.Part{Segment: 1, Quantity: 1}); d.Status != stock.StatusExpired || !d.ExpiresAt.Equal(second) {
		t.Errorf("expired: %+v", d)
	}
	k.equal("still reserved", string(k.read("b", stock.Part{Segment: 1, Quantity: 2}).Status), "reserved")
	// An expired order id stays taken.
	k.outcomes(k.deduct(0, stock.Fence{}, reserved("a", 1, time.Second)).Outcomes, stock.Known)
}

func testExpired(t *testing.T, k *kit) {
	for i, name := range []string{"a", "b", "c", "d", "e"} {
		if _, err := k.store.CreateSKU(t.Context(), stock.NewSKU{SKU: name, Stock: 9, Segments: 1}, at); err != nil {
			t.Fatal(err)
		}
		o := reserved("o", 1, time.Duration(i+1)*time.Second)
		if name == "c" {
			o.ReserveFor = 0
		}
		_, err := k.store.Deduct(t.Context(), stock.Batch{SKU: name, Layout: firstLayout, At: at, Orders: []stock.Order{o, reserved("p", 1, time.Hour)}})
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		after time.Duration
		limit int
		want  string
	}{{0, 9, "[]"}, {time.Second, 9, "[a]"}, {4 * time.Second, 9, "[a b d]"}, {time.Minute, 2, "[a b]"}, {time.Hour, 9, "[a b c d e]"}} {
		got, err := k.store.Expired(t.Context(), at.Add(c.after), c.limit)
		if err != nil || fmt.Sprint(got) != c.want {
			t.Errorf("after %s, at most %d: got %v, %v, want %s", c.after, c.limit, got, err, c.want)
		}
	}
	if _, err := k.store.Expire(t.Context(), "a", at.Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	if got, err := k.store.Expired(t.Context(), at.Add(time.Minute), 9); err != nil || fmt.Sprint(got) != "[b d e]" {
		t.Errorf("after a was swept: got %v, %v", got, err)
	}
}

// testMergeTakesBackFirst: units of expired reservations are sold by the very merge that finds them.
func testMergeTakesBackFirst(t *testing.T, k *kit) {
	k.create(6, 3)
	k.merge(nil, reserved("a", 4, time.Second), reserved("b", 2, time.Minute))
	second := at.Add(time.Second)
	merge := k.merging(nil, order("c", 3), order("d", 2))
	merge.At = second
	result, err := k.store.Merge(t.Context(), merge)
	if err != nil {
		t.Fatal(err)
	}
	k.outcomes(result.Outcomes, stock.Accepted, stock.Short)
	k.equal("expired, left", fmt.Sprint(result.Expired, sum(result.Segments)), "1 1")
	if !result.NextExpiry.Equal(at.Add(time.Minute)) {
		t.Errorf("until: got %s", result.NextExpiry)
	}
	k.balance(second, 1, 2, 3)
	merge.At, merge.Orders = at.Add(time.Minute), []stock.Order{reserved("e", 2, time.Hour), order("f", 1)}
	result, err = k.store.Merge(t.Context(), merge)
	if err != nil {
		t.Fatal(err)
	}
	k.outcomes(result.Outcomes, stock.Accepted, stock.Accepted)
	if want := merge.At.Add(time.Hour); !result.NextExpiry.Equal(want) || result.Expired != 1 {
		t.Errorf("until: got %s, want %s; %d expired", result.NextExpiry, want, result.Expired)
	}
	merge.At, merge.Orders = merge.At.Add(time.Hour), orders("g", 3)
	result, err = k.store.Merge(t.Context(), merge)
	if err != nil || !result.NextExpiry.IsZero() || result.Expired != 1 {
		t.Errorf("the last: %+v, %v", result, err)
	}
	k.outcomes(result.Outcomes, stock.Accepted, stock.Accepted, stock.Short)
}

// testSoldOutUntil: the fact ends with the earliest reservation, also one whose time has come already.
func testSoldOutUntil(t *testing.T, k *kit) {
	k.create(6, 2)
	until := func() time.Time {
		found, err := k.store.SoldOut(t.Context(), sku, 0, nil)
		if err != nil {
			t.Fatal(err)
		}
		return found.NextExpiry
	}
	if got := until(); !got.IsZero() {
		t.Errorf("without a reservation: %s", got)
	}
	k.merge(nil, order("a", 1), reserved("b", 2, time.Hour), reserved("c", 3, time.Minute))
	if got := until(); !got.Equal(at.Add(time.Minute)) {
		t.Errorf("with two: %s", got)
	}
	k.settled(at, commit("c"), stock.StatusCommitted, 3, 0)
	if got := until(); !got.Equal(at.Add(time.Hour)) {
		t.Errorf("with one: %s", got)
	}
	if _, soldOut, ids := k.soldOut(9); !soldOut || fmt.Sprint(ids) != "[a b c]" {
		t.Errorf("sold out %v, ids %v", soldOut, ids)
	}
}
