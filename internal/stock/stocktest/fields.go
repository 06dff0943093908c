package stocktest

import (
	"fmt"
	"reflect"
	"testing"
	"time"

	"inventory/internal/stock"
)

// notKept are the fields of an order that a store does not keep: they are about who asks, and not about what is asked.
var notKept = map[string]bool{"Own": true, "CallerMax": true, "InOrder": true}

// filledOrder has a value of its own in every field that a store keeps.
func filledOrder(t *testing.T, id string) stock.Order {
	t.Helper()
	o := stock.Order{OrderID: id, Quantity: 3, ReserveFor: time.Minute}
	fields := reflect.ValueOf(&o).Elem()
	for i := range fields.NumField() {
		name, field := fields.Type().Field(i).Name, fields.Field(i)
		switch {
		case notKept[name] || !field.IsZero():
		case field.Kind() == reflect.String:
			field.SetString("a " + name)
		default:
			t.Fatalf("give field %s of an order a value here", name)
		}
	}
	return o
}

// testFieldsAreKept holds every way in which an order is written, and every way in which it is read, to all of its fields.
func testFieldsAreKept(t *testing.T, k *kit) {
	k.create(30, 2)
	for how, take := range map[string]func(stock.Order) stock.Deduction{
		"batch": func(o stock.Order) stock.Deduction { return k.deduct(0, stock.Fence{}, o).Outcomes[0].Deduction },
		"batch with a short neighbour": func(o stock.Order) stock.Deduction {
			return k.deduct(0, stock.Fence{}, o, order("z"+o.OrderID, 99)).Outcomes[0].Deduction
		},
		"merge": func(o stock.Order) stock.Deduction { return k.merge(nil, o).Outcomes[0].Deduction },
	} {
		o := filledOrder(t, how)
		want := stock.AcceptedOutcome(sku, o, at).Deduction
		k.sameFields(how, take(o), want)
		one, err := k.store.Deduction(t.Context(), sku, how)
		if err != nil {
			t.Fatal(err)
		}
		k.sameFields(how+", read", one, want)
		many, err := k.store.Deductions(t.Context(), sku, []string{how})
		if err != nil {
			t.Fatal(err)
		}
		k.sameFields(how+", read among others", many[how], want)
		k.sameFields(how+", asked for again", k.deduct(1, stock.Fence{}, o).Outcomes[0].Deduction, want)
		settled, err := k.store.Settle(t.Context(), stock.Settlement{SKU: sku, At: at, Requests: []stock.SettleRequest{{OrderID: how}}})
		if err != nil || settled[0].Err != nil {
			t.Fatal(err, settled)
		}
		want.Status = stock.StatusCommitted
		k.sameFields(how+", committed", settled[0].Deduction, want)
	}
}

// sameFields names each field of a deduction that is not as it should be. Parts aside, which not every read fills.
func (k *kit) sameFields(how string, got, want stock.Deduction) {
	k.Helper()
	got.Parts = nil
	k.sameFieldsOf(how, "", reflect.ValueOf(got), reflect.ValueOf(want))
}

func (k *kit) sameFieldsOf(how, inside string, got, want reflect.Value) {
	k.Helper()
	for i := range want.NumField() {
		field := want.Type().Field(i)
		if field.Anonymous {
			k.sameFieldsOf(how, field.Name+".", got.Field(i), want.Field(i))
			continue
		}
		if g, w := fmt.Sprint(got.Field(i)), fmt.Sprint(want.Field(i)); g != w {
			k.Errorf("%s: field %s%s of the deduction: got %s, want %s", how, inside, field.Name, g, w)
		}
	}
}
