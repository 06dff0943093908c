package stocktest

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"inventory/internal/stock"
)

// basket places an order of two of a, seven of b and one of c, reserved for a minute.
func (k *kit) basket(id string) {
	k.Helper()
	p := placing(id, []stock.Line{{SKU: "a", Quantity: 2}, {SKU: "b", Quantity: 7}, {SKU: "c", Quantity: 1}},
		[]stock.PlacedLine{here, anywhere, limitedTo(here)})
	p.Order.BuyerID, p.Order.ReserveFor = "x", time.Minute
	if _, created, err := k.store.Order(k.Context(), p); err != nil || !created {
		k.Fatal(created, err)
	}
}

// settlesOrder settles an order, without a look at it if the store does so, and returns in words what became of its lines, or why not.
func (k *kit) settlesOrder(when time.Time, request stock.SettleRequest) string {
	k.Helper()
	o := stock.OrderSettlement{Request: request, Keys: []string{request.OrderID}, At: when}
	results, err := k.store.SettleOrder(k.Context(), o)
	if o.SKUs = []string{"a", "b", "c"}; results == nil && err == nil {
		results, err = k.store.SettleOrder(k.Context(), o)
	}
	if err != nil {
		k.Fatal(err)
	}
	if err := o.Refusal(results); err != nil {
		refused := []string{string(stock.CodeOf(err))}
		for _, line := range err.(*stock.Error).Lines { //nolint:errorlint,forcetypeassert // Refusal returns it
			refused = append(refused, line.SKU+" "+string(line.Code))
		}
		return strings.Join(refused, ", ")
	}
	words := stock.Column(results, func(r stock.Settled) string { return fmt.Sprint(r.Deduction.Status, " ", r.Deduction.Quantity) })
	return strings.Join(words, ", ")
}

// testSettleOrder: the lines of an order are settled together, all of them or none.
func testSettleOrder(t *testing.T, k *kit) {
	k.threeSKUs()
	given := placing("given up", []stock.Line{{SKU: "a", Quantity: 2}, {SKU: "b", Quantity: 5}, {SKU: "c", Quantity: 1}},
		[]stock.PlacedLine{here, here, here})
	given.Order.ReserveFor = time.Minute
	if _, created, err := k.store.Order(t.Context(), given); err != nil || !created {
		t.Fatal(created, err)
	}
	for range 2 {
		k.equal("given up", k.settlesOrder(at, cancel("given up")), "cancelled 2, cancelled 5, cancelled 1")
		k.left(map[string]int64{"a": 10, "b": 10, "c": 6})
	}
	k.basket("o")
	k.equal("extended", k.settlesOrder(at, extend("o", "longer", time.Hour)), "reserved 2, reserved 7, reserved 1")
	late := at.Add(time.Minute)
	k.equal("returned", k.settlesOrder(late, returns("o", "", 0)), "not_committed, a not_committed, b not_committed, c not_committed")
	for range 2 {
		k.equal("committed", k.settlesOrder(late, commit("o")), "committed 2, committed 7, committed 1")
	}
	k.equal("cancelled", k.settlesOrder(late, cancel("o")), "already_committed, a already_committed, b already_committed, c already_committed")
	k.equal("extended again", k.settlesOrder(late, extend("o", "longer", time.Hour)), "committed 2, committed 7, committed 1")
	k.equal("extended anew", k.settlesOrder(late, extend("o", "anew", time.Hour)), "not_reserved, a not_reserved, b not_reserved, c not_reserved")
	k.left(map[string]int64{"a": 8, "b": 3, "c": 5})

	one := func(request stock.SettleRequest) error {
		t.Helper()
		results, err := k.store.Settle(t.Context(), stock.Settlement{SKU: "a", At: late, Requests: []stock.SettleRequest{request}})
		if err != nil {
			t.Fatal(err)
		}
		return results[0].Err
	}
	for _, alone := range []stock.SettleRequest{commit("o"), cancel("o"), giveBack("o", "r", 1), extend("o", "r", time.Hour)} {
		k.code(one(alone), stock.CodePartOfOrder)
	}
	if err := one(returns("o", "", 0)); err != nil { // a line may be returned alone
		t.Fatal(err)
	}
	k.equal("committed before", k.settlesOrder(late, commit("o")), "returned 2, committed 7, committed 1")
	off := returns("o", "", 0)
	off.WriteOff, off.Reason = true, "wet"
	k.equal("the rest written off", k.settlesOrder(late, off), "returned 2, returned 7, returned 1")
	k.equal("the rest written off again", k.settlesOrder(late, off), "returned 2, returned 7, returned 1")
	k.left(map[string]int64{"a": 10, "b": 3, "c": 5})
	k.audited()
}

// testOrderExpires: an order that has expired cannot be settled, and its units are back.
func testOrderExpires(t *testing.T, k *kit) {
	k.threeSKUs()
	k.basket("o")
	late := at.Add(time.Minute)
	k.equal("committed", k.settlesOrder(late, commit("o")), "not_reserved, a not_reserved, b not_reserved, c not_reserved")
	k.left(map[string]int64{"a": 10, "b": 10, "c": 6})
	k.basket("p")
	k.equal("cancelled", k.settlesOrder(late, cancel("p")), "expired 2, expired 7, expired 1")
	k.left(map[string]int64{"a": 10, "b": 10, "c": 6})
	there, err := k.store.PlacedOrder(t.Context(), "o")
	if err != nil || there == nil || there.BuyerID != "x" || len(there.Lines) != 3 || there.Lines[2].Status != stock.StatusExpired {
		t.Fatalf("got %+v, %v", there, err)
	}
	if none, err := k.store.PlacedOrder(t.Context(), "none"); err != nil || none != nil {
		t.Fatalf("got %+v, %v, want none", none, err)
	}
	if err := k.retakesOrder(late, "o"); err != nil {
		t.Fatal(err)
	}
	k.left(map[string]int64{"a": 8, "b": 3, "c": 5})
	k.code(k.retakesOrder(late, "p"), stock.CodeNotReserved) // there are not seven of b, so nothing of a is taken
	k.left(map[string]int64{"a": 8, "b": 3, "c": 5})
	k.audited()
}

// retakesOrder takes the units of an order again.
func (k *kit) retakesOrder(when time.Time, id string) error {
	request := commit(id)
	request.InOrder = true
	var retakes []stock.Retake
	for sku, limit := range map[string]int64{"a": 0, "b": 0, "c": 2} {
		retakes = append(retakes, stock.Retake{SKU: sku, Layout: firstLayout, Limit: limit, At: when, Request: request})
	}
	slices.SortFunc(retakes, func(a, b stock.Retake) int { return strings.Compare(a.SKU, b.SKU) })
	_, err := k.store.Retake(k.Context(), time.Time{}, retakes...)
	return err
}

// testRetakeOfAHalf: a line whose reservation goes on is committed with those that are taken again.
func testRetakeOfAHalf(t *testing.T, k *kit) {
	k.threeSKUs()
	k.basket("o")
	longer := extend("o", "longer", time.Hour)
	longer.InOrder = true // no caller does so; but in older databases lines have ends of their own
	if _, err := k.store.Settle(t.Context(), stock.Settlement{SKU: "b", At: at, Requests: []stock.SettleRequest{longer}}); err != nil {
		t.Fatal(err)
	}
	late := at.Add(time.Minute)
	k.equal("committed", k.settlesOrder(late, commit("o")), "not_reserved, a not_reserved, c not_reserved")
	for range 2 {
		if err := k.retakesOrder(late, "o"); err != nil {
			t.Fatal(err)
		}
		k.left(map[string]int64{"a": 8, "b": 3, "c": 5})
	}
	k.equal("cancelled", k.settlesOrder(late, cancel("o")), "already_committed, a already_committed, b already_committed, c already_committed")
	k.audited()
}
