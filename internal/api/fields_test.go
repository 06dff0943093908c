package api

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"

	"inventory/internal/api/client"
	"inventory/internal/stock"
)

// TestEveryFieldOfADeductionIsAnswered: each field of an order comes back under its name.
func TestEveryFieldOfADeductionIsAnswered(t *testing.T) {
	t.Parallel()
	// ReserveFor comes back as ExpiresAt; the others describe the caller.
	aside := map[string]bool{"ReserveFor": true, "Own": true, "CallerMax": true, "InOrder": true}
	d := stock.Deduction{SKU: "a sku", Quantity: 7, Status: stock.StatusReserved, ExpiresAt: time.Unix(1795770000, 0)}
	order := reflect.ValueOf(&d.Order).Elem()
	want := map[string]string{"sku": d.SKU, "quantity": "7", "status": "reserved"}
	for i := range order.NumField() {
		name := order.Type().Field(i).Name
		switch field := order.Field(i); {
		case aside[name] || name == "Quantity":
		case field.Kind() == reflect.String:
			field.SetString("a " + name)
			want[jsonName(name)] = "a " + name
		default:
			t.Fatalf("give field %s of an order a value here", name)
		}
	}
	text, err := json.Marshal(answerOf(d))
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	for name, value := range want {
		if fmt.Sprint(got[name]) != value {
			t.Errorf("field %s is %v, want %s: %s", name, got[name], value, text)
		}
	}
}

// TestEveryTextOfAnOrderIsAskedFor: what a deduction keeps of its order can be said in a request, also by the Go client, which
// returns it as well.
func TestEveryTextOfAnOrderIsAskedFor(t *testing.T) {
	t.Parallel()
	for _, text := range stock.KeptTexts() {
		o, err := readForm(fmt.Appendf(nil, `{"order_id": "o", "quantity": 1, %q: "a text"}`, text.Column), newDeduction)
		if err != nil || text.Get(o) != "a text" {
			t.Errorf("%s of the order: got %q, %v, want what was asked for", text.Column, text.Get(o), err)
		}
		for _, in := range []reflect.Type{
			reflect.TypeFor[client.NewDeduction](), reflect.TypeFor[client.NewSKUDeduction](),
			reflect.TypeFor[client.Deduction](), reflect.TypeFor[client.DeductionWithParts](),
		} {
			_, there := in.FieldByNameFunc(func(name string) bool { return jsonName(name) == text.Column })
			if !there {
				t.Errorf("%s of the Go client lacks %s", in, text.Column)
			}
		}
	}
}

// TestTheDocumentHasEveryFieldOfADeduction: every field of an order, in requests and in answers, is in each schema of the
// document that describes an order.
func TestTheDocumentHasEveryFieldOfADeduction(t *testing.T) {
	t.Parallel()
	document, err := openapi3.NewLoader().LoadFromFile("openapi.yaml")
	if err != nil {
		t.Fatal(err)
	}
	order := reflect.TypeFor[stock.Order]()
	for i := range order.NumField() {
		name := jsonName(order.Field(i).Name)
		_, err := readForm(fmt.Appendf(nil, `{%q: []}`, name), newDeduction)
		if strings.Contains(fmt.Sprint(err), "not a field") { // it describes the caller
			continue
		}
		schemas := []string{"NewDeduction", "NewSKUDeduction"}
		if name != "reserve_for" { // it comes back as expires_at
			schemas = append(schemas, "Deduction", "DeductionWithParts")
		}
		for _, schema := range schemas {
			if document.Components.Schemas[schema].Value.Properties[name] == nil {
				t.Errorf("%s lacks %s", schema, name)
			}
		}
	}
}

// jsonName returns the name of a field in JSON: order_id for OrderID.
func jsonName(field string) string {
	var name strings.Builder
	for i, r := range field {
		if i > 0 && r >= 'A' && r <= 'Z' && field[i-1] >= 'a' {
			name.WriteByte('_')
		}
		name.WriteRune(r)
	}
	return strings.ToLower(name.String())
}
