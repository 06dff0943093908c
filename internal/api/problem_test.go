package api

import (
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"slices"
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

// TestFinalOfEachCode: each code of this package has been decided about, and an error without a code is not final.
func TestFinalOfEachCode(t *testing.T) {
	t.Parallel()
	undecided := []stock.Code{
		stock.CodeOverloaded, stock.CodeUnavailable, codeTimeout, // time and load
		codeUnauthenticated, codeForbidden, codeRateLimited, // what the caller may do now: an earlier attempt may have been carried out
	}
	for _, k := range kinds {
		p := problemOf(&stock.Error{Code: k.Code})
		if want := !slices.Contains(undecided, k.Code); p.Final != want {
			t.Errorf("%s: got final %v, want %v", k.Code, p.Final, want)
		}
		if p.Final && (p.Status == http.StatusRequestTimeout || p.Status == http.StatusTooManyRequests || p.Status >= 500) {
			t.Errorf("%s with status %d is final", k.Code, p.Status)
		}
	}
	for name, err := range map[string]error{
		"an unknown error": errors.New("what is this"), "a hang-up": errors.Join(errHungUp, context.Canceled),
		"a body that was cut off": bodyError(io.ErrUnexpectedEOF), "a slow body": bodyError(os.ErrDeadlineExceeded),
		"an unwritten one": stock.Unavailable(stock.ErrUnwritten, "sell"),
	} {
		if p := problemOf(err); p.Final {
			t.Errorf("%s: got %+v, want one that is not final", name, p)
		}
	}
}
