package stock_test

import (
	"errors"
	"strings"
	"testing"

	"inventory/internal/stock"
)

// An id that could be stored under older rules is still found, settled and replayed; new ids have stricter rules.
func TestTextsThatAreKept(t *testing.T) {
	t.Parallel()
	for text, says := range map[string]string{
		"o-1002": "", "a b": "", "2026/11/o": "", `a\b`: "", "ü😀": "", "a%2Fb": "", "...": "", ".a": "", "a..": "", "x.y/z": "",
		".": "between slashes", "..": "between slashes", "../a": "between slashes", "a/..": "between slashes", `a\..\b`: "between slashes",
		"a/./b": "between slashes", "//..": "between slashes",
		" a": "blank", "a ": "blank", "\u00a0a": "blank", "a\u3000": "blank", " ": "blank",
		"a\u200b": "invisible", "a\u200d": "invisible", "\u202ea": "invisible", "a\u2066b": "invisible", "a\u2028b": "invisible",
		"a\u2029b": "invisible", "a\u00adb": "invisible", "\ufeffa": "invisible", "a\u3164": "invisible", "a\ufe0f": "invisible",
		"a\U000e0041": "invisible", "a\u034f": "invisible", "\u061c": "invisible",
		"a\u0085": "control", "a\nb": "control", "\x7f": "control", "": "1 to 128 bytes", strings.Repeat("ü", 65): "1 to 128 bytes",
	} {
		held(t, "order_id", text, says, stock.Order{OrderID: text, Quantity: 1}.Check())
		if says == "between slashes" {
			says = "" // it is not part of a path
		}
		held(t, "buyer_id", text, says, stock.CheckBuyerID(text))
		held(t, "ref", text, says, stock.Movement{SKU: "a", Ref: text, Kind: stock.Restocked, Quantity: 1}.Check())
		if text != "" {
			held(t, "name", text, strings.ReplaceAll(says, "128", "200"), stock.NewSKU{SKU: "a", Name: text, Segments: 1}.Check(), "ü")
			held(t, "reason", text, strings.ReplaceAll(says, "128", "500"), stock.Movement{SKU: "a", Ref: "r", Kind: stock.Restocked, Quantity: 1, Reason: text}.Check(), "ü")
		}
	}
}

// held checks the reasons for refusing a text; texts that are too long for only one of the fields are left out.
func held(t *testing.T, field, text, says string, err error, but ...string) {
	t.Helper()
	for _, part := range but {
		if strings.HasPrefix(text, part) {
			return
		}
	}
	var refusal *stock.Error
	switch {
	case says == "" && err != nil, says != "" && !errors.As(err, &refusal):
		t.Errorf("%s %q: %v, want %q", field, text, err, says)
	case says != "" && (refusal.Field != field || !strings.Contains(refusal.Message, says)):
		t.Errorf("%s %q: %v, want %q", field, text, refusal, says)
	}
}

func TestSKUsThatAreSteps(t *testing.T) {
	t.Parallel()
	for _, sku := range []string{".", ".."} {
		held(t, "sku", sku, `must not be "." or ".."`, stock.NewSKU{SKU: sku, Segments: 1}.Check())
	}
	held(t, "sku", "...", "", stock.NewSKU{SKU: "...", Segments: 1}.Check())
}

// An order id under older rules is still found.
func TestKnownOrderIDIsLookedUp(t *testing.T) {
	t.Parallel()
	for _, id := range []string{"..", "a\u200b", " a"} {
		if err := (stock.SettleRequest{OrderID: id}).Check(); err != nil {
			t.Errorf("%q: %v", id, err)
		}
	}
}

// TestEachByteAlone is an id of a buyer, an order or a SKU, or none.
func TestEachByteAlone(t *testing.T) {
	t.Parallel()
	for b := range 256 {
		text := string([]byte{byte(b)})
		visible := b > ' ' && b < 0x7f
		if err := stock.CheckBuyerID(text); (err == nil) != visible {
			t.Errorf("buyer %q: %v", text, err)
		}
		if err := (stock.Order{OrderID: text, Quantity: 1}).Check(); (err == nil) != (visible && text != ".") {
			t.Errorf("order %q: %v", text, err)
		}
		inSKU := visible && strings.Contains("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-", text)
		if err := stock.CheckSKU(text); (err == nil) != inSKU {
			t.Errorf("SKU %q: %v", text, err)
		}
	}
	for _, sku := range []string{"ü", "a b", "a/b", "a\x00"} {
		if stock.CheckSKU(sku) == nil {
			t.Errorf("SKU %q is taken", sku)
		}
	}
}
