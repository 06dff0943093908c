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
