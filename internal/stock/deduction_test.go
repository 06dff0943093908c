package stock

import (
	"reflect"
	"testing"
	"time"
)

// TestReplayComparesEveryField: an order that differs in any field from the one that was accepted is no replay of it.
func TestReplayComparesEveryField(t *testing.T) {
	t.Parallel()
	// The id finds the deduction; the other fields describe the caller.
	aside := map[string]bool{"InOrder": true, "OrderID": true, "Own": true, "CallerMax": true}
	d := AcceptedOutcome("sku", Order{}, time.Time{}).Deduction
	for i := range reflect.TypeFor[Order]().NumField() {
		var o Order
		field := reflect.ValueOf(&o).Elem().Field(i)
		switch field.Kind() {
		case reflect.String:
			field.SetString("x")
		case reflect.Int64:
			field.SetInt(7)
		case reflect.Bool:
			field.SetBool(true)
		default:
			t.Fatalf("give field %s of an order a value here", reflect.TypeFor[Order]().Field(i).Name)
		}
		if name := reflect.TypeFor[Order]().Field(i).Name; d.Answers(o) != aside[name] {
			t.Errorf("field %s: an order with another value is a replay: got %v, want %v", name, d.Answers(o), aside[name])
		}
	}
}

// TestAPageReadsNoMoreThanItHoldsIfAllMatch: what a filter leaves out has to be read, up to the bound. A namespace is a range of keys.
func TestAPageReadsNoMoreThanItHoldsIfAllMatch(t *testing.T) {
	t.Parallel()
	shop, ann := "", "ann"
	for name, c := range map[string]struct {
		query DeductionQuery
		want  int
	}{
		"all":                    {DeductionQuery{}, 10},
		"a buyer's own":          {DeductionQuery{BuyerID: ann, Namespace: &ann}, 10},
		"a buyer's own reserved": {DeductionQuery{BuyerID: ann, Namespace: &ann, Status: StatusReserved}, 5000},
		"the shop's for a buyer": {DeductionQuery{BuyerID: ann, Namespace: &shop}, 5000},
		"a buyer's":              {DeductionQuery{BuyerID: ann}, 5000},
	} {
		c.query.Limit, c.query.Scan = 10, 5000
		if got := c.query.Bound(); got != c.want {
			t.Errorf("%s: reads %d rows, want %d", name, got, c.want)
		}
	}
}

// TestHistoryShowsTheEndThatHolds: an extension to an earlier instant changes nothing.
func TestHistoryShowsTheEndThatHolds(t *testing.T) {
	at := time.Unix(1_800_000_000, 0)
	h := History{Deduction: Deduction{Order: Order{OrderID: "o", Quantity: 1, ReserveFor: time.Hour}, Quantity: 1, Status: StatusReserved}, TakenAt: at}
	h.Amendments = []Amendment{
		{Ref: "less", Verb: Extend, Extended: time.Minute, At: at.Add(time.Minute)},
		{Ref: "more", Verb: Extend, Extended: 2 * time.Hour, At: at.Add(2 * time.Minute)},
		{Ref: "less again", Verb: Extend, Extended: time.Minute, At: at.Add(3 * time.Minute)},
	}
	want := []time.Duration{time.Hour, time.Hour, 2*time.Hour + 2*time.Minute, 2*time.Hour + 2*time.Minute}
	for i, e := range h.Entries() {
		if got := e.Until.Sub(at); got != want[i] {
			t.Errorf("%s %s: it ends after %v, want %v", e.Kind, e.Ref, got, want[i])
		}
	}
}

// TestReusedIDsAreToldApart: a refusal says what differs, with both values, and tells a token nothing of another buyer's order.
func TestReusedIDsAreToldApart(t *testing.T) {
	d := Deduction{Order: Order{OrderID: "o", BuyerID: "ann", Quantity: 2, ReserveFor: time.Minute}}
	for want, o := range map[string]Order{
		`: quantity is 2, not 3; reserve_for is 1m0s, not none`: {OrderID: "o", BuyerID: "ann", Quantity: 3},
		`: buyer_id is "ann", not ""`:                           {OrderID: "o", Quantity: 2, ReserveFor: time.Minute},
		``:                                                      {OrderID: "o", BuyerID: "bob", Own: true, Quantity: 2},
	} {
		if got, want := o.ReusedBy(d).Message, "this order id was used before for another request"+want; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	there := PlacedOrder{BuyerID: "ann", OrderedBy: "ann", Lines: []Deduction{{SKU: "a", Order: Order{Quantity: 1}}, {SKU: "b", Order: Order{Quantity: 1}}}}
	p := Placement{Order: MultiOrder{BuyerID: "ann", Lines: []Line{{"a", 2}, {"c", 1}}}}
	_, err := p.Replay(&there)
	want := `order_id_reused: this order id was used before for another request: the quantity of SKU "a" is 1, not 2; ` +
		`the quantity of SKU "b" is 1, not 0; the quantity of SKU "c" is 0, not 1`
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	err = NewSKU{SKU: "a", Stock: 11, Segments: 10, Name: "A"}.CheckReplay(NewSKU{SKU: "a", Stock: 10, Segments: 10})
	if want := `sku_exists: SKU "a" exists with other properties: stock is 10, not 11; name is "", not "A"`; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}
