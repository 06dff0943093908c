package postgres_test

import (
	"errors"
	"fmt"
	"testing"

	"inventory/internal/busytest"
	"inventory/internal/stock"
)

// TestKnownOrdersCostASecondStatement: a batch is expected to have only new orders. After one with a known order, the next ones are not.
func TestKnownOrdersCostASecondStatement(t *testing.T) {
	t.Parallel()
	busytest.Virtual(t, func(t *testing.T) {
		s := openSharers(t, 2)
		sell := func(what string, allNew, alone int64, batch stock.Batch, kinds ...stock.OutcomeKind) {
			t.Helper()
			s.wants(what, <-s.deduct(t.Context(), batch), kinds...)
			if got := s.statements.allNew.Swap(0); got != allNew {
				t.Errorf("%s: %d statements for new orders alone, want %d", what, got, allNew)
			}
			s.wrote(0, 0, alone)
		}
		sell("new orders", 1, 1, one("a", "y", "x"), stock.Accepted, stock.Accepted)
		sell("a known order", 1, 2, one("a", "x", "z"), stock.Known, stock.Accepted)
		for n := range 16 {
			sell(fmt.Sprint("batch after it ", n), 0, 1, one("ab"[n%2:n%2+1], fmt.Sprint(n/2%4)), []stock.OutcomeKind{stock.Accepted, stock.Known}[n/8])
		}
		sell("once more a known order", 1, 2, one("b", "3", "4"), stock.Known, stock.Accepted)
		for n := range 32 {
			sell(fmt.Sprint("batch after both ", n), 0, 1, one("b", "3"), stock.Known)
		}
		sell("new orders again", 1, 1, one("b", "5"), stock.Accepted)
		sell("no failure before it", 1, 2, one("b", "5"), stock.Known)
		for n := range 16 {
			sell(fmt.Sprint("batch after a success ", n), 0, 1, one("b", "3"), stock.Known)
		}
		s.holds(map[string]int64{"a": 20 - 3 - 4, "b": 20 - 4 - 2})
	})
}

// TestNewOrdersThatDoNotFitWriteNothing: the statement for new orders writes all that is asked for, or nothing.
func TestNewOrdersThatDoNotFitWriteNothing(t *testing.T) {
	t.Parallel()
	busytest.Virtual(t, func(t *testing.T) {
		s := openSharers(t, 1)
		tooMany := one("a", "x", "y")
		tooMany.Orders[1].Quantity = 10
		old := one("a", "x")
		old.Layout = 7
		if got := <-s.deduct(t.Context(), old); !errors.Is(got.err, stock.ErrLayout) {
			t.Errorf("another layout: got %v, %v", got.kinds(), got.err)
		}
		s.holds(map[string]int64{"a": 20})
		s.wants("more than the segment holds", <-s.deduct(t.Context(), tooMany), stock.Accepted, stock.Short) // by a transaction
		s.holds(map[string]int64{"a": 19})
		fenced := one("a", "f")
		fenced.Fence = stock.Fence{Token: 1796066849677523, Owner: "me"}
		s.wants("a fence", <-s.deduct(t.Context(), fenced), stock.Accepted)
		fenced.Orders[0].OrderID, fenced.Fence.Token = "g", 1796066849677522
		if got := <-s.deduct(t.Context(), fenced); !errors.Is(got.err, stock.ErrFenced) {
			t.Errorf("an older fence: got %v, %v", got.kinds(), got.err)
		}
		s.holds(map[string]int64{"a": 18})
	})
}
