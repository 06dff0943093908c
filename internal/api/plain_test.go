package api

import (
	"bytes"
	"encoding/json"
	"testing"

	"inventory/internal/stock"
)

// FuzzPlainOrder holds the reader of plain bodies to the general decoder: what is plain for the one, the other reads
// as the same order.
func FuzzPlainOrder(f *testing.F) {
	for _, body := range []string{
		`{"order_id":"a","quantity":1}`, " { \"quantity\" : 20 , \"buyer_id\" : \"b c\" ,\n\"order_id\" : \"a\" } ",
		`{"order_id":"a","order_id":"b","quantity":1}`, `{"order_id":"a","quantity":01}`, `{"order_id":"a","quantity":1.5}`,
		`{"order_id":"a","quantity":1e3}`, `{"order_id":"\u0061","quantity":1}`, `{"order_id":"a","quantity":1}{}`,
		`{"order_id":"a","quantity":9999999999}`, `{"order_id":"a","quantity":-1}`, `{"order_id":"","quantity":1}`,
		`{"order_id":"a","quantity":1,"fence":2}`, `{"order_id":null,"quantity":1}`, `{"order_id":"a","quantity":"1"}`,
		`{"order_id":"a","quantity":1,"buyer_id":""}`, `{"order_id":"ü","quantity":1}`, `{}`, `[]`, ``, `{"order_id":"a"`,
		`{"order_id":"a","quantity":1,}`, `{,}`, `{"order_id":"a" "quantity":1}`,
	} {
		f.Add([]byte(body))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		plain, ok := plainOrder(text)
		if !ok {
			return
		}
		var body newDeduction
		err := decodeFrom(bytes.NewReader(text), &body)
		if err != nil {
			t.Fatalf("%q is plain, and the decoder says %v", text, err)
		}
		if order, err := body.order(); err != nil || order != plain {
			t.Fatalf("%q is plainly %+v, and to the decoder %+v, %v", text, plain, order, err)
		}
	})
}

// What nearly every client sends must take the short way.
func TestOrdinaryOrdersArePlain(t *testing.T) {
	for _, body := range []string{
		`{"order_id":"6ba7b810-9dad-11d1-80b4-00c04fd430c8","buyer_id":"buyer 7 <&>","quantity":1000000}`,
		"{\n  \"quantity\": 2,\n  \"order_id\": \"o\"\n}\n",
	} {
		if _, ok := plainOrder([]byte(body)); !ok {
			t.Errorf("%s is not plain", body)
		}
	}
}

// FuzzEncode holds what is written by hand to what Go's decoder reads.
func FuzzEncode(f *testing.F) {
	f.Add("sku", "order", "buyer", int64(1), "detail", "field")
	f.Add("a.b", "\"\\/\u2028<&>", "ü😀", int64(1<<40), "\x00\t", "")
	f.Fuzz(func(t *testing.T, sku, orderID, buyerID string, n int64, detail, field string) {
		d := stock.Deduction{SKU: sku, OrderID: orderID, BuyerID: buyerID, Quantity: n, Status: stock.StatusCommitted}
		var got, want deductionAnswer
		same(t, appendDeduction(nil, d), &got, deductionOf(d), &want)
		if got.OrderID != want.OrderID || got.BuyerID != want.BuyerID || got.SKU != want.SKU || got.Quantity != want.Quantity || got.Status != want.Status {
			t.Fatalf("got %+v, want %+v", got, want)
		}
		p := problem{kind{409, sku}, &stock.Error{Code: stock.CodeInsufficientStock, Message: detail, Field: field, Available: n}}
		var members, wanted map[string]any
		same(t, appendProblem(nil, p), &members, map[string]any{
			"type": "urn:inventory:problem:" + p.Code, "title": p.title, "status": p.status,
			"detail": p.Message, "code": p.Code, "field": p.Field, "available": n,
		}, &wanted)
		if wanted["field"] == "" {
			delete(wanted, "field")
		}
		if len(members) != len(wanted) {
			t.Fatalf("got %v, want %v", members, wanted)
		}
		for name, value := range wanted {
			if members[name] != value {
				t.Fatalf("%s: got %v, want %v", name, members[name], value)
			}
		}
	})
}

// same decodes what was written by hand, and what Go's encoder makes of the same.
func same(t *testing.T, text []byte, got, original, want any) {
	t.Helper()
	if err := json.Unmarshal(text, got); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	encoded, err := json.Marshal(original)
	if err == nil {
		err = json.Unmarshal(encoded, want)
	}
	if err != nil {
		t.Fatal(err)
	}
}
