package api

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"inventory/internal/stock"
)

// FuzzPlainOrder compares the reader of plain bodies with the general decoder: a plain body is the same order for both.
func FuzzPlainOrder(f *testing.F) {
	for _, body := range []string{
		`{"order_id":"a","quantity":1}`, " { \"quantity\" : 20 , \"buyer_id\" : \"b c\" ,\n\"order_id\" : \"a\" } ",
		`{"order_id":"a","order_id":"b","quantity":1}`, `{"order_id":"a","quantity":01}`, `{"order_id":"a","quantity":1.5}`,
		`{"order_id":"a","quantity":1e3}`, `{"order_id":"\u0061","quantity":1}`, `{"order_id":"a","quantity":1}{}`,
		`{"order_id":"a","quantity":9999999999}`, `{"order_id":"a","quantity":-1}`, `{"order_id":"","quantity":1}`,
		`{"order_id":"a","quantity":1,"fence":2}`, `{"order_id":null,"quantity":1}`, `{"order_id":"a","quantity":"1"}`,
		`{"order_id":"a","quantity":1,"buyer_id":""}`, `{"order_id":"ü","quantity":1}`, `{}`, `[]`, ``, `{"order_id":"a"`,
		`{"order_id":"a","quantity":1,}`, `{,}`, `{"order_id":"a","quantity":1,"reserve_for":"15m"}`,
		`{"reserve_for":"1h30m0.5s","order_id":"a","quantity":1}`, `{"order_id":"a","quantity":1,"reserve_for":"720h1us"}`,
		`{"order_id":"a","quantity":1,"reserve_for":"+1s"}`, `{"order_id":"a","quantity":1,"reserve_for":"0"}`,
		`{"order_id":"a","quantity":1,"reserve_for":"1ns"}`, `{"order_id":"a","quantity":1,"reserve_for":""}`,
		`{"order_id":"a","quantity":1,"reserve_for":"1s","reserve_for":"1s"}`, `{"order_id":"a","quantity":1,"reserve_for":15}`,
		`{"order_id":"a" "quantity":1}`,
	} {
		f.Add([]byte(body))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		plain, ok := plainOrder(text)
		if !ok {
			return
		}
		var body newDeduction
		err := decodeText(text, &body)
		if err != nil {
			t.Fatalf("%q is plain, and the decoder says %v", text, err)
		}
		if order, err := body.order(); err != nil || order != plain {
			t.Fatalf("%q is plainly %+v, and to the decoder %+v, %v", text, plain, order, err)
		}
	})
}

// FuzzPlainOrders compares the reader of many plain deductions with the general decoder.
func FuzzPlainOrders(f *testing.F) {
	const one = `{"sku":"s","order_id":"a","quantity":1}`
	for _, body := range []string{
		`{"deductions":[` + one + `]}`, `{"deductions":[` + one + `,` + one + `]}`, ` { "deductions" : [ ` + one + ` , {"reserve_for":"15m","quantity":2,"order_id":"b","sku":"t","buyer_id":"c"} ] } `,
		`{"deductions":[]}`, `{"deductions":[` + one + `,]}`, `{"deductions":[` + one + `]`, `{"deductions":[` + one + `]}}`, `{"deductions":[` + one + `],"sku":"s"}`,
		`{"deductions":` + one + `}`, `{"deductions":[null]}`, `{"deductions":[[]]}`, `[]`, ``, `{}`, `{"deductions":[{}]}`, `{"deductions":[` + one + one + `]}`,
		`{"deductions":[{"sku":"","order_id":"a","quantity":1}]}`, `{"deductions":[{"sku":"s","sku":"s","order_id":"a","quantity":1}]}`,
		`{"deductions":[{"sku":"ü","order_id":"a","quantity":1}]}`, `{"deductions":[{"sku":"s","order_id":"a","quantity":1.5}]}`,
		`{"deductions":[{"order_id":"a","quantity":1}]}`, `{"deductions":[` + one + `],"deductions":[` + one + `]}`, `{"Deductions":[` + one + `]}`,
	} {
		f.Add([]byte(body))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		plain, ok := plainOrders(text)
		if !ok {
			return
		}
		var body newDeductions
		if err := decodeText(text, &body); err != nil {
			t.Fatalf("%q is plain, and the decoder says %v", text, err)
		}
		if orders, err := body.orders(); err != nil || !slices.Equal(orders, plain) {
			t.Fatalf("%q is plainly %+v, and to the decoder %+v, %v", text, plain, orders, err)
		}
	})
}

// The requests of nearly every client must take the fast path.
func TestOrdinaryOrdersArePlain(t *testing.T) {
	for _, body := range []string{
		`{"order_id":"6ba7b810-9dad-11d1-80b4-00c04fd430c8","buyer_id":"buyer 7 <&>","quantity":1000000}`,
		`{"order_id":"o","quantity":1,"reserve_for":"15m"}`,
		"{\n  \"quantity\": 2,\n  \"order_id\": \"o\"\n}\n",
	} {
		if _, ok := plainOrder([]byte(body)); !ok {
			t.Errorf("%s is not plain", body)
		}
		many := `{"deductions":[` + strings.Replace(body, "{", `{"sku":"a.b-9",`, 1) + `,` + strings.Replace(body, "}", `,"sku":"a"}`, 1) + `]}`
		if orders, ok := plainOrders([]byte(many)); !ok || len(orders) != 2 {
			t.Errorf("%s is not plain", many)
		}
	}
}

// FuzzEncode checks that Go's decoder reads the answers that are written by hand.
func FuzzEncode(f *testing.F) {
	f.Add("sku", "order", "buyer", int64(1), "committed", int64(0), "detail", "field")
	f.Add("sku", "order", "", int64(1), "reserved", int64(1795770000000001), "detail", "field")
	f.Add("a.b", "\"\\/\u2028<&>", "ü😀", int64(1<<40), "expired", int64(1795770000100000), "\x00\t", "")
	f.Fuzz(func(t *testing.T, sku, orderID, buyerID string, n int64, status string, expiresAt int64, detail, field string) {
		d := stock.Deduction{SKU: sku, Order: stock.Order{OrderID: orderID, BuyerID: buyerID}, Quantity: n, Status: stock.DeductionStatus(status)}
		if expiresAt > 0 && expiresAt < 1<<55 { // which is in the year 3111: JSON has no years of five digits
			d.ExpiresAt = time.UnixMicro(expiresAt)
		}
		if n%2 == 0 {
			d.Parts = []stock.Part{{Segment: 1, Quantity: n}, {Segment: 2, Quantity: 1}}
		}
		var got, want map[string]any
		same(t, appendDeduction(nil, d), &got, deductionOf(d), &want)
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("got %v, want %v", got, want)
		}
		p := problem{kind{409, sku}, &stock.Error{Code: stock.CodeInsufficientStock, Message: detail, Field: field, SKU: sku, Available: n}}
		var members, wanted map[string]any
		same(t, appendProblem(nil, p), &members, map[string]any{
			"type": problemPages + p.Code, "title": p.title, "status": p.status,
			"detail": p.Message, "code": p.Code, "field": p.Field, "sku": p.SKU, "available": n,
		}, &wanted)
		drop := func(name string, value any) bool { return (name == "field" || name == "sku") && value == "" }
		maps.DeleteFunc(wanted, drop)
		if !maps.Equal(members, wanted) {
			t.Fatalf("got %v, want %v", members, wanted)
		}
		var both, wantedBoth map[string]any
		same(t, appendResults(nil, []result{{201, d, nil}, {409, stock.Deduction{}, &p}}), &both, map[string]any{
			"results": []any{map[string]any{"status": 201, "deduction": want}, map[string]any{"status": 409, "problem": wanted}},
		}, &wantedBoth)
		if !reflect.DeepEqual(both, wantedBoth) {
			t.Fatalf("got %v, want %v", both, wantedBoth)
		}
	})
}

// same decodes a text that was written by hand, and the output of Go's encoder for the same value.
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

// deductionAnswer is what [appendDeduction] must write.
type deductionAnswer struct {
	SKU       string                `json:"sku"`
	OrderID   string                `json:"order_id"`
	BuyerID   string                `json:"buyer_id,omitempty"`
	Quantity  int64                 `json:"quantity"`
	Status    stock.DeductionStatus `json:"status"`
	ExpiresAt time.Time             `json:"expires_at,omitzero"`
	Parts     []partAnswer          `json:"parts,omitempty"`
}

type partAnswer struct {
	Segment  int   `json:"segment"`
	Quantity int64 `json:"quantity"`
}

func deductionOf(d stock.Deduction) deductionAnswer {
	a := deductionAnswer{
		SKU: d.SKU, OrderID: d.OrderID, BuyerID: d.BuyerID, Quantity: d.Quantity, Status: d.Status, ExpiresAt: expiry(d),
	}
	for _, p := range d.Parts {
		a.Parts = append(a.Parts, partAnswer(p))
	}
	return a
}
