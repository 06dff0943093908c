package api

import (
	"errors"
	"net/http"
	"testing"

	"inventory/internal/stock"
)

// TestATitleSaysThatNothingWasWritten: 503 unavailable has one of two titles, and Retry-After with both.
func TestATitleSaysThatNothingWasWritten(t *testing.T) {
	t.Parallel()
	broken := errors.New("connection reset by peer")
	for title, err := range map[string]error{
		"The outcome is not known": stock.Unavailable(broken, "sell"),
		"Nothing was written":      stock.Unavailable(stock.Unwritten(broken), "sell"),
	} {
		if p := problemOf(err); p.Title != title || p.Status != http.StatusServiceUnavailable || p.Code != stock.CodeUnavailable {
			t.Errorf("%v: got %q, %d, %s", err, p.Title, p.Status, p.Code)
		}
	}
	after := stock.AfterWrite(stock.Unavailable(stock.Unwritten(broken), "read SKU"), "read the new SKU")
	if p := problemOf(after); p.Title != "The outcome is not known" {
		t.Errorf("after a write: got %q", p.Title)
	}
}
