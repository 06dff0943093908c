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
