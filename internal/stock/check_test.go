package stock

import (
	"strings"
	"testing"
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
		{"ref", Restock{SKU: "a", Quantity: 1}.check()},
		{"reason", Restock{SKU: "a", Ref: "r", Quantity: 1, Reason: "\x7f"}.check()},
		{"quantity", Restock{SKU: "a", Ref: "r"}.check()},
	} {
		e, ok := c.err.(*Error) //nolint:errorlint // nothing wraps it
		if !ok || e.Code != CodeInvalidRequest || e.Field != c.field || !strings.HasPrefix(e.Message, c.field) {
			t.Errorf("want a complaint about %s, got %v", c.field, c.err)
		}
	}
	for _, err := range []error{
		checkSKU("A-z_0.9"),
		NewSKU{SKU: "a", Segments: 1024}.check(),
		Order{OrderID: strings.Repeat("x", 128), BuyerID: "ü", Quantity: MaxQuantity}.check(),
	} {
		if err != nil {
			t.Errorf("refused: %v", err)
		}
	}
}
