package stock

import (
	"errors"
	"strings"
	"testing"
	"time"
)

func TestChecksNameTheField(t *testing.T) {
	long := strings.Repeat("x", 129)
	for _, c := range []struct {
		field string
		err   error
	}{
		{"sku", CheckSKU("")},
		{"sku", CheckSKU("a/b")},
		{"sku", CheckSKU("a{b}")},
		{"sku", CheckSKU("ä")},
		{"sku", CheckSKU("a\n")},
		{"sku", CheckSKU(strings.Repeat("x", 65))},
		{"stock", NewSKU{SKU: "a", Stock: -1, Segments: 1}.Check()},
		{"stock", NewSKU{SKU: "a", Stock: MaxStock + 1, Segments: 1}.Check()},
		{"segments", NewSKU{SKU: "a"}.Check()},
		{"segments", NewSKU{SKU: "a", Segments: MaxSegments + 1}.Check()},
		{"name", NewSKU{SKU: "a", Segments: 1, Name: "a\x00"}.Check()},
		{"order_id", Order{Quantity: 1}.Check()},
		{"order_id", Order{OrderID: long, Quantity: 1}.Check()},
		{"order_id", Order{OrderID: "a\tb", Quantity: 1}.Check()},
		{"order_id", Order{OrderID: "a\u0085b", Quantity: 1}.Check()},
		{"order_id", Order{OrderID: "\xff", Quantity: 1}.Check()},
		{"buyer_id", Order{OrderID: "a", BuyerID: long, Quantity: 1}.Check()},
		{"quantity", Order{OrderID: "a"}.Check()},
		{"quantity", Order{OrderID: "a", Quantity: -1}.Check()},
		{"quantity", Order{OrderID: "a", Quantity: MaxQuantity + 1}.Check()},
		{"reserve_for", Order{OrderID: "a", Quantity: 1, ReserveFor: -1}.Check()},
		{"reserve_for", Order{OrderID: "a", Quantity: 1, ReserveFor: MaxReserve + time.Microsecond}.Check()},
		{"reserve_for", Order{OrderID: "a", Quantity: 1, ReserveFor: MinReserve - time.Microsecond}.Check()},
		{"reserve_for", Order{OrderID: "a", Quantity: 1, ReserveFor: MinReserve + 1}.Check()},
		{"ref", Movement{SKU: "a", Kind: Restocked, Quantity: 1}.Check()},
		{"reason", Movement{SKU: "a", Kind: Restocked, Ref: "r", Quantity: 1, Reason: "\x7f"}.Check()},
		{"quantity", Movement{SKU: "a", Kind: Restocked, Ref: "r"}.Check()},
		{"quantity", Movement{SKU: "a", Kind: Restocked, Ref: "r", Quantity: -1}.Check()},
		{"quantity", Movement{SKU: "a", Kind: Adjusted, Ref: "r", Reason: "count"}.Check()},
		{"quantity", Movement{SKU: "a", Kind: Adjusted, Ref: "r", Reason: "count", Quantity: -MaxQuantity - 1}.Check()},
		{"kind", Movement{SKU: "a", Kind: "sold", Ref: "r", Quantity: 1}.Check()},
		{"segments", Movement{SKU: "a", Kind: Resegmented, Ref: "r"}.Check()},
		{"segments", Movement{SKU: "a", Kind: Resegmented, Ref: "r", Segments: MaxSegments + 1}.Check()},
		{"per_buyer_limit", NewSKU{SKU: "a", Segments: 1, Terms: Terms{PerBuyerLimit: -1}}.Check()},
		{"max_reserve_for", NewSKU{SKU: "a", Segments: 1, Terms: Terms{MaxReserveFor: MinReserve - time.Microsecond}}.Check()},
		{"max_reserve_for", NewSKU{SKU: "a", Segments: 1, Terms: Terms{MaxReserveFor: MaxReserve + time.Microsecond}}.Check()},
		{"max_quantity", NewSKU{SKU: "a", Segments: 1, Terms: Terms{MaxQuantity: MaxQuantity + 1}}.Check()},
		{"sale_starts_at", NewSKU{SKU: "a", Segments: 1, Terms: Terms{SaleStartsAt: time.Date(3000, 1, 1, 0, 0, 0, 0, time.UTC)}}.Check()},
		{"sale_ends_at", NewSKU{SKU: "a", Segments: 1, Terms: Terms{SaleStartsAt: time.Unix(2, 0), SaleEndsAt: time.Unix(2, 0)}}.Check()},
		{"lines", MultiOrder{OrderID: "a"}.Check()},
		{"lines", MultiOrder{OrderID: "a", Lines: make([]Line, MaxLines+1)}.Check()},
		{"lines[1].sku", MultiOrder{OrderID: "a", Lines: []Line{{SKU: "a", Quantity: 1}, {SKU: "a", Quantity: 1}}}.Check()},
		{"lines[0].sku", MultiOrder{OrderID: "a", Lines: []Line{{Quantity: 1}}}.Check()},
		{"lines[0].quantity", MultiOrder{OrderID: "a", Lines: []Line{{SKU: "a"}}}.Check()},
		{"order_id", MultiOrder{Lines: []Line{{SKU: "a", Quantity: 1}}}.Check()},
		{"order_id", SettleRequest{}.Check()},
		{"quantity", SettleRequest{OrderID: "a", Quantity: -1}.Check()},
		{"ref", SettleRequest{OrderID: "a", Verb: Cancel, Quantity: 1}.Check()},
		{"ref", SettleRequest{OrderID: "a", Verb: Extend, ExtendFor: time.Hour}.Check()},
		{"ref", SettleRequest{OrderID: "a", Verb: Extend, ExtendFor: time.Hour, Ref: "a\u200b"}.Check()},
		{"quantity", SettleRequest{OrderID: "a", Verb: Cancel, Ref: "r"}.Check()},
		{"quantity", SettleRequest{OrderID: "a", Verb: Cancel, Ref: "r", Quantity: MaxQuantity + 1}.Check()},
		{"reserve_for", SettleRequest{OrderID: "a", Verb: Extend, Ref: "r"}.Check()},
		{"reason", SettleRequest{OrderID: "a", Verb: Return, Reason: "\x1e"}.Check()},
		{"reserve_for", SettleRequest{OrderID: "a", Ref: "r", Verb: Extend, ExtendFor: -time.Hour}.Check()},
		{"reserve_for", SettleRequest{OrderID: "a", Ref: "r", Verb: Extend, ExtendFor: MaxReserve + time.Microsecond}.Check()},
		{"reserve_for", SettleRequest{OrderID: "a", Ref: "r", Verb: Extend, ExtendFor: time.Hour + 1}.Check()},
	} {
		e, ok := c.err.(*Error) //nolint:errorlint // nothing wraps it
		if !ok || e.Code != CodeInvalidRequest || e.Field != c.field || !strings.HasPrefix(e.Message, c.field) {
			t.Errorf("want a complaint about %s, got %v", c.field, c.err)
		}
	}
	for _, err := range []error{
		CheckSKU("A-z_0.9"),
		NewSKU{SKU: "a", Segments: 1024}.Check(),
		Order{OrderID: strings.Repeat("x", 128), BuyerID: "ü", Quantity: MaxQuantity, ReserveFor: MaxReserve}.Check(),
		Movement{SKU: "a", Kind: Adjusted, Ref: "r", Quantity: -MaxQuantity, Reason: "lost"}.Check(),
		SettleRequest{OrderID: "a", Quantity: MaxQuantity}.Check(),
		SettleRequest{OrderID: "a", Verb: Cancel, Ref: "r", Quantity: MaxQuantity}.Check(),
		SettleRequest{OrderID: "a", Ref: "r", Verb: Extend, ExtendFor: MaxReserve}.Check(),
	} {
		if err != nil {
			t.Errorf("refused: %v", err)
		}
	}
}

// TestTheSameFieldIsNamedEachTime: of two wrong ones it is the first.
func TestTheSameFieldIsNamedEachTime(t *testing.T) {
	never := time.Date(3000, 1, 1, 0, 0, 0, 0, time.UTC)
	for range 100 {
		err := NewSKU{SKU: "a", Segments: 1, Terms: Terms{SaleStartsAt: never, SaleEndsAt: never}}.Check()
		if e, ok := errors.AsType[*Error](err); !ok || e.Field != "sale_starts_at" {
			t.Fatal(err)
		}
	}
}
