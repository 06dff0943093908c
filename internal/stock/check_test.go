package stock

import (
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
		{"sku", checkSKU("")},
		{"sku", checkSKU("a/b")},
		{"sku", checkSKU("a{b}")},
		{"sku", checkSKU("ä")},
		{"sku", checkSKU("a\n")},
		{"sku", checkSKU(strings.Repeat("x", 65))},
		{"stock", NewSKU{SKU: "a", Stock: -1, Segments: 1}.check()},
		{"stock", NewSKU{SKU: "a", Stock: MaxStock + 1, Segments: 1}.check()},
		{"segments", NewSKU{SKU: "a"}.check()},
		{"segments", NewSKU{SKU: "a", Segments: MaxSegments + 1}.check()},
		{"name", NewSKU{SKU: "a", Segments: 1, Name: "a\x00"}.check()},
		{"order_id", Order{Quantity: 1}.check()},
		{"order_id", Order{OrderID: long, Quantity: 1}.check()},
		{"order_id", Order{OrderID: "a\tb", Quantity: 1}.check()},
		{"order_id", Order{OrderID: "a\u0085b", Quantity: 1}.check()},
		{"order_id", Order{OrderID: "\xff", Quantity: 1}.check()},
		{"buyer_id", Order{OrderID: "a", BuyerID: long, Quantity: 1}.check()},
		{"quantity", Order{OrderID: "a"}.check()},
		{"quantity", Order{OrderID: "a", Quantity: -1}.check()},
		{"quantity", Order{OrderID: "a", Quantity: MaxQuantity + 1}.check()},
		{"reserve_for", Order{OrderID: "a", Quantity: 1, ReserveFor: -1}.check()},
		{"reserve_for", Order{OrderID: "a", Quantity: 1, ReserveFor: MaxReserve + time.Microsecond}.check()},
		{"reserve_for", Order{OrderID: "a", Quantity: 1, ReserveFor: MinReserve - time.Microsecond}.check()},
		{"reserve_for", Order{OrderID: "a", Quantity: 1, ReserveFor: MinReserve + 1}.check()},
		{"ref", Movement{SKU: "a", Kind: Restocked, Quantity: 1}.check()},
		{"reason", Movement{SKU: "a", Kind: Restocked, Ref: "r", Quantity: 1, Reason: "\x7f"}.check()},
		{"quantity", Movement{SKU: "a", Kind: Restocked, Ref: "r"}.check()},
		{"quantity", Movement{SKU: "a", Kind: Restocked, Ref: "r", Quantity: -1}.check()},
		{"quantity", Movement{SKU: "a", Kind: Adjusted, Ref: "r", Reason: "count"}.check()},
		{"quantity", Movement{SKU: "a", Kind: Adjusted, Ref: "r", Reason: "count", Quantity: -MaxQuantity - 1}.check()},
		{"reason", Movement{SKU: "a", Kind: Adjusted, Ref: "r", Quantity: -1}.check()},
		{"segments", Movement{SKU: "a", Kind: Resegmented, Ref: "r"}.check()},
		{"segments", Movement{SKU: "a", Kind: Resegmented, Ref: "r", Segments: MaxSegments + 1}.check()},
		{"per_buyer_limit", NewSKU{SKU: "a", Segments: 1, Terms: Terms{PerBuyerLimit: -1}}.check()},
		{"max_reserve_for", NewSKU{SKU: "a", Segments: 1, Terms: Terms{MaxReserveFor: MinReserve - time.Microsecond}}.check()},
		{"max_reserve_for", NewSKU{SKU: "a", Segments: 1, Terms: Terms{MaxReserveFor: MaxReserve + time.Microsecond}}.check()},
		{"max_quantity", NewSKU{SKU: "a", Segments: 1, Terms: Terms{MaxQuantity: MaxQuantity + 1}}.check()},
		{"sale_starts_at", NewSKU{SKU: "a", Segments: 1, Terms: Terms{SaleStartsAt: time.Date(3000, 1, 1, 0, 0, 0, 0, time.UTC)}}.check()},
		{"sale_ends_at", NewSKU{SKU: "a", Segments: 1, Terms: Terms{SaleStartsAt: time.Unix(2, 0), SaleEndsAt: time.Unix(2, 0)}}.check()},
		{"lines", MultiOrder{OrderID: "a"}.check()},
		{"lines", MultiOrder{OrderID: "a", Lines: make([]Line, MaxLines+1)}.check()},
		{"lines[1].sku", MultiOrder{OrderID: "a", Lines: []Line{{SKU: "a", Quantity: 1}, {SKU: "a", Quantity: 1}}}.check()},
		{"lines[0].sku", MultiOrder{OrderID: "a", Lines: []Line{{Quantity: 1}}}.check()},
		{"lines[0].quantity", MultiOrder{OrderID: "a", Lines: []Line{{SKU: "a"}}}.check()},
		{"order_id", MultiOrder{Lines: []Line{{SKU: "a", Quantity: 1}}}.check()},
		{"order_id", SettleRequest{}.check()},
		{"quantity", SettleRequest{OrderID: "a", Quantity: -1}.check()},
	} {
		e, ok := c.err.(*Error) //nolint:errorlint // nothing wraps it
		if !ok || e.Code != CodeInvalidRequest || e.Field != c.field || !strings.HasPrefix(e.Message, c.field) {
			t.Errorf("want a complaint about %s, got %v", c.field, c.err)
		}
	}
	for _, err := range []error{
		checkSKU("A-z_0.9"),
		NewSKU{SKU: "a", Segments: 1024}.check(),
		Order{OrderID: strings.Repeat("x", 128), BuyerID: "ü", Quantity: MaxQuantity, ReserveFor: MaxReserve}.check(),
		Movement{SKU: "a", Kind: Adjusted, Ref: "r", Quantity: -MaxQuantity, Reason: "lost"}.check(),
		SettleRequest{OrderID: "a", Quantity: MaxQuantity}.check(),
	} {
		if err != nil {
			t.Errorf("refused: %v", err)
		}
	}
}
