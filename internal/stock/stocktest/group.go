package stocktest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"inventory/internal/stock"
)

// GroupCases are those with buyer limits that count over several SKUs, for stores that have them.
func GroupCases() []Case {
	return []Case{
		{"a limit over several SKUs", testGroup},
		{"orders of several SKUs of a group", testGroupOrders},
		{"reservations that have expired in a group", testGroupExpires},
		{"SKUs join a group and leave it", testGroupChanges},
		{"orders change under the limit of a group", testGroupOrderChanges},
		{"a change of an order counts its buyers in groups", testGroupChangeCounts},
		{"a group while everything happens at once", testGroupRace},
	}
}

const (
	group      = "shoes"
	groupCount = "#" + group
)

// groupOf makes SKUs of one unit price, all of a group.
func (k *kit) groupOf(limit int64, skus ...string) {
	k.t.Helper()
	for _, sku := range skus {
		k.makes(stock.NewSKU{SKU: sku, Stock: 100, Segments: 2, Terms: stock.Terms{PerBuyerLimit: limit, LimitGroup: group}})
	}
}

// batchOf is a batch for a SKU as it is now.
func (k *kit) batchOf(sku string, segment int, orders ...stock.Order) stock.Batch {
	k.t.Helper()
	view := k.view(sku)
	return stock.Batch{
		SKU: sku, Layout: view.Layout, Segment: segment, Limit: view.Terms.PerBuyerLimit, LimitGroup: view.Terms.LimitGroup, At: at, Orders: orders,
	}
}

// gets takes orders of a SKU from a segment, or by a merge, and checks what becomes of them.
func (k *kit) gets(want, sku string, segment int, orders ...stock.Order) {
	k.t.Helper()
	take := k.store.Deduct
	if segment == stock.AllSegments {
		take = k.store.Merge
	}
	result, err := take(k.t.Context(), k.batchOf(sku, segment, orders...))
	if err != nil {
		k.t.Fatal(err)
	}
	k.equal(fmt.Sprint(sku, ": ", orders), told(result), want)
}

// basketOf places an order of a unit of each SKU.
func (k *kit) basketOf(buyer, id string, segment int, reserve time.Duration, skus ...string) stock.Placement {
	p := stock.Placement{Order: stock.MultiOrder{OrderID: id, BuyerID: buyer, ReserveFor: reserve}, At: at}
	for _, sku := range skus {
		b := k.batchOf(sku, segment)
		p.Order.Lines = append(p.Order.Lines, stock.Line{SKU: sku, Quantity: 1})
		p.Lines = append(p.Lines, placedLines(stock.Batch{Layout: b.Layout, Segment: segment, Limit: b.Limit, LimitGroup: b.LimitGroup})...)
	}
	return p
}

// holds checks which orders of a buyer a group's count has.
func (k *kit) holds(buyer string, want ...string) {
	k.t.Helper()
	got, err := k.store.BuyerOrders(k.t.Context(), groupCount, buyer, false, 20)
	if err != nil {
		k.t.Fatal(err)
	}
	k.equal("orders of "+buyer, stock.Column(got, func(d stock.Deduction) string { return d.SKU + " " + d.OrderID }), want)
	k.audit()
}

func testGroup(_ *testing.T, k *kit) {
	k.groupOf(3, "a", "b")
	k.makes(stock.NewSKU{SKU: "c", Stock: 9, Segments: 1, Terms: stock.Terms{PerBuyerLimit: 3}})
	k.gets("accepted, accepted", "a", 0, by("x", "1", 2), by("y", "2", 1))
	k.gets("limited, accepted", "b", 1, by("x", "3", 2), by("y", "4", 2))
	k.gets("accepted", "b", 1, by("x", "5", 1))
	k.gets("limited, limited, accepted", "b", stock.AllSegments, by("x", "6", 1), by("y", "7", 1), by("z", "8", 3))
	k.gets("accepted", "c", 0, by("x", "9", 3))
	k.holds("x", "a 1", "b 5")
	settled := k.settleOf("a", at, returns("1", "p", 1))
	k.equal("returned", settled[0].Returned, int64(1))
	k.gets("accepted", "b", 0, by("x", "10", 1))
	k.gets("limited", "a", 0, by("x", "11", 1))
	k.settleOf("b", at, returns("5", "", 0))
	k.gets("accepted, accepted", "a", 1, by("x", "12", 1), by("nobody", "13", 1))
	k.holds("x", "a 1", "b 10", "a 12")
	k.audited("a")
	k.damaged = true
	if err := k.exec(k.t.Context(), "UPDATE buyers SET units = units - 1 WHERE sku_id = '"+groupCount+"' AND buyer_id = 'x'"); err != nil {
		k.t.Fatal(err)
	}
	for _, sku := range []string{"", "a", "b"} {
		if audit, err := k.store.Audit(k.t.Context(), sku, nil); err != nil || audit.OK() {
			k.t.Errorf("the audit of %q sees nothing: %+v, %v", sku, audit, err)
		}
	}
}

func testGroupOrders(t *testing.T, k *kit) {
	k.groupOf(3, "a", "b", "c")
	order := func(want stock.Code, p stock.Placement) {
		t.Helper()
		_, _, err := k.store.Order(t.Context(), p)
		if stock.CodeOf(err) != want {
			t.Fatalf("%s: %v, want %q", p.Order.OrderID, err, want)
		}
		var e *stock.Error
		if want == stock.CodeBuyerLimit && errors.As(err, &e) && (e.LimitGroup != group || e.CountedAt() != groupCount || e.LimitOf != p.Order.BuyerID) {
			t.Errorf("%+v", e)
		}
		k.audit()
	}
	order("", k.basketOf("x", "1", 0, 0, "a", "b"))
	order(stock.CodeBuyerLimit, k.basketOf("x", "2", 1, 0, "a", "b"))
	order("", k.basketOf("x", "3", stock.AllSegments, 0, "c"))
	order(stock.CodeBuyerLimit, k.basketOf("x", "4", stock.AllSegments, 0, "c"))
	order("", k.basketOf("y", "5", stock.AllSegments, time.Minute, "a", "b", "c"))
	k.holds("y", "a 5", "b 5", "c 5")
	k.settlesOrder(at, stock.SettleRequest{OrderID: "5", Verb: stock.Cancel, InOrder: true}, "cancelled 1, cancelled 1, cancelled 1")
	k.holds("y")
	order("", k.basketOf("y", "6", 0, time.Minute, "a", "b", "c"))
	late := at.Add(time.Hour)
	retakes := func(want stock.Code) {
		t.Helper()
		var all []stock.Retake
		for _, sku := range []string{"a", "b", "c"} {
			request := commit("6")
			request.InOrder = true
			all = append(all, stock.Retake{SKU: sku, Layout: firstLayout, Limit: 3, LimitGroup: group, At: late, Request: request})
		}
		_, err := k.store.Retake(t.Context(), time.Time{}, all...)
		if want == "" && errors.Is(err, stock.ErrStale) {
			for _, sku := range []string{"a", "b", "c"} {
				if _, err := k.store.Expire(t.Context(), sku, late); err != nil {
					t.Fatal(err)
				}
			}
			_, err = k.store.Retake(t.Context(), time.Time{}, all...)
		}
		if stock.CodeOf(err) != want {
			t.Fatalf("retake: %v, want %q", err, want)
		}
		k.audit()
	}
	retakes("")
	k.holds("y", "a 6", "b 6", "c 6")
	order("", k.basketOf("z", "7", 0, 0, "a"))
	k.settlesOrder(late, stock.SettleRequest{OrderID: "6", Verb: stock.Return, InOrder: true}, "returned 1, returned 1, returned 1")
	k.holds("y")
}

func testGroupExpires(t *testing.T, k *kit) {
	k.groupOf(2, "a", "b")
	o := by("x", "1", 2)
	o.ReserveFor = time.Minute
	k.gets("accepted", "a", 0, o)
	k.gets("limited", "b", 0, by("x", "2", 1))
	late := at.Add(time.Hour)
	for _, when := range []time.Time{at, late} {
		due, err := k.store.DueInGroup(t.Context(), groupCount, []string{"x", "y"}, when)
		if err != nil || len(due) == 1 != (when == late) {
			t.Fatalf("due: %v, %v", due, err)
		}
	}
	b := k.batchOf("a", stock.AllSegments, by("y", "3", 2), by("z", "4", 99))
	b.At = late
	result, err := k.store.Merge(t.Context(), b)
	if err != nil || !result.Stale || result.Expired != 0 {
		t.Errorf("a merge in a group: %+v, %v", result, err)
	}
	if ended, err := k.store.ExpireFree(t.Context(), late, "a", "b"); err != nil || ended["a"].Reservations != 1 {
		t.Errorf("%+v, %v", ended, err)
	}
	k.gets("accepted", "b", 0, by("x", "5", 2))
	k.holds("x", "b 5")
}

func testGroupChanges(t *testing.T, k *kit) {
	k.groupOf(4, "b")
	k.create(100, 2)
	k.deduct(0, stock.Fence{}, by("x", "1", 1), by("y", "2", 3), by("x", "3", 1))
	k.gets("accepted", "b", 0, by("x", "4", 2))
	change := func(ref string, terms stock.TermsChange) {
		t.Helper()
		k.moved(reterm(ref, terms))
		k.audit()
	}
	counting := func(want bool) {
		t.Helper()
		k.equal("counting", []bool{k.status(sku, at).Counting, k.status("b", at).Counting}, []bool{want, want})
	}
	if _, err := k.store.Move(t.Context(), reterm("alone", stock.TermsChange{LimitGroup: stock.To(group)})); stock.CodeOf(err) != stock.CodeInvalidRequest {
		t.Errorf("a group without a limit: %v", err)
	}
	change("joins", stock.TermsChange{LimitGroup: stock.To(group), PerBuyerLimit: stock.To[int64](5)})
	counting(true)
	k.gets("accepted", sku, 1, by("x", "5", 1))
	k.holds("x", "b 4", sku+" 5")
	k.countsAll(1)
	counting(false)
	k.holds("x", sku+" 1", sku+" 3", "b 4", sku+" 5")
	k.gets("limited", sku, 1, by("x", "6", 1))
	k.gets("limited, accepted", "b", 1, by("x", "7", 1), by("y", "8", 1))
	change("alone again", stock.TermsChange{LimitGroup: stock.To("")})
	k.gets("accepted", sku, 1, by("x", "9", 1)) // the others are not counted here yet
	k.countsAll(2)
	counting(false)
	k.holds("x", "b 4")
	k.holds("y", "b 8")
	k.gets("accepted, limited", sku, 0, by("x", "10", 1), by("y", "11", 3))
	change("another", stock.TermsChange{LimitGroup: stock.To("boots")})
	k.settleOf(sku, at, returns("1", "", 0))
	k.countsAll(2)
	change("back", stock.TermsChange{LimitGroup: stock.To(group)})
	k.settleOf(sku, at, returns("3", "", 0))
	k.countsAll(2)
	k.holds("y", sku+" 2", "b 8")
	k.audited(sku)
	change("without", stock.TermsChange{LimitGroup: stock.To(""), PerBuyerLimit: stock.To[int64](0)})
	k.countsAll(2)
	k.holds("x", "b 4")
	k.audited(sku)
}

// testGroupRace: few buyers order single SKUs and baskets of a group and of another one, give back and let expire, while a SKU leaves its
// group and joins the other. A deadlock would be an error.
func testGroupRace(t *testing.T, k *kit) {
	const n = 60
	k.groupOf(9, "a", "b")
	for _, sku := range []string{"c", "d"} {
		k.makes(stock.NewSKU{SKU: sku, Stock: 1000, Segments: 2, Terms: stock.Terms{PerBuyerLimit: 8, LimitGroup: "boots"}})
	}
	skus := []string{"a", "b", "c", "d"}
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	seller := func(who int) func(context.Context) error {
		return func(ctx context.Context) error {
			r := rand.New(rand.NewPCG(seed, uint64(who))) //nolint:gosec // not for secrets
			for i := range n {
				id, when := fmt.Sprintf("o-%d-%d", who, i), at.Add(time.Duration(i)*time.Second)
				buyer := func() string { return fmt.Sprint("b-", r.IntN(4)) }
				reserve := time.Duration(r.IntN(2)*r.IntN(20)) * time.Second
				views, err := k.store.Views(ctx, skus...)
				if err != nil {
					return err
				}
				of := func(sku string, segment int) stock.Batch {
					terms := views[sku].Terms
					return stock.Batch{SKU: sku, Layout: views[sku].Layout, Segment: segment, Limit: terms.PerBuyerLimit, LimitGroup: terms.LimitGroup, At: when}
				}
				sku := skus[r.IntN(4)]
				switch r.IntN(6) {
				case 0, 1:
					b := of(sku, r.IntN(2))
					first := r.IntN(4)
					for j := range 3 { // no buyer twice
						o := by(fmt.Sprint("b-", (first+j)%4), fmt.Sprint(id, "-", j), 1)
						o.ReserveFor = reserve
						b.Orders = append(b.Orders, o)
					}
					_, err = k.store.Deduct(ctx, b)
				case 2:
					b := of(sku, stock.AllSegments)
					b.Orders = []stock.Order{by(buyer(), id, 2), by(buyer(), id+"-2", 1)}
					_, err = k.store.Merge(ctx, b)
				case 3, 4:
					p := stock.Placement{Order: stock.MultiOrder{OrderID: id, BuyerID: buyer(), ReserveFor: reserve}, At: when}
					for _, sku := range skus[r.IntN(3):] {
						line := of(sku, r.IntN(3)-1)
						p.Order.Lines, line.SKU = append(p.Order.Lines, stock.Line{SKU: sku, Quantity: 1}), ""
						p.Lines = append(p.Lines, stock.PlacedLine{Batch: line})
					}
					_, _, err = k.store.Order(ctx, p)
					switch ends := r.IntN(4); {
					case err != nil:
					case ends > 1:
						c := stock.OrderChange{OrderID: id, Ref: "r", Lines: []stock.Line{{SKU: skus[r.IntN(4)], Quantity: 1 + r.Int64N(3)}}}
						if other := skus[r.IntN(4)]; other != c.Lines[0].SKU {
							c.Lines = append(c.Lines, stock.Line{SKU: other, Quantity: 1})
						}
						if ends == 3 {
							c.NewBuyer = buyer()
						}
						err = revise(ctx, k.store, when, c)
					case ends == 1:
						o := stock.OrderSettlement{Request: stock.SettleRequest{OrderID: id, Verb: stock.Cancel, InOrder: true}, SKUs: p.Order.SKUs(), At: when}
						_, err = k.store.SettleOrder(ctx, o)
					}
				default:
					if _, err = k.store.Expire(ctx, sku, when); err == nil {
						_, err = k.store.ExpireFree(ctx, when, skus...)
					}
				}
				if err != nil && !expected(err) {
					return fmt.Errorf("%s: %w", id, err)
				}
			}
			return nil
		}
	}
	mover := func(ctx context.Context) error {
		for i := range 8 {
			m := reterm(fmt.Sprint("group ", i), stock.TermsChange{LimitGroup: stock.To([]string{"boots", "", group}[i%3])})
			m.SKU = "b"
			if _, err := k.store.Move(ctx, m); err != nil {
				return err
			}
			for range 20 {
				if _, err := k.store.CountEarlier(ctx, "b", 5); err != nil && !errors.Is(err, stock.ErrHeld) {
					return err
				}
			}
		}
		return nil
	}
	k.together(seller(1), seller(2), seller(3), mover)
	for left := true; left; {
		var err error
		if left, err = k.store.CountEarlier(t.Context(), "b", 50); err != nil {
			t.Fatal(err)
		}
	}
}
