package selling_test

import (
	"context"
	"testing"

	"inventory/internal/stock"
	"inventory/internal/stock/selling"
)

// familiar is a store that knows one order, and records which batches said that they may have known ones.
type familiar struct {
	endless
	again []bool
}

func (f *familiar) Deduct(ctx context.Context, b stock.Batch) (stock.BatchResult, error) {
	f.again = append(f.again, b.ExpectKnown)
	result, err := f.endless.Deduct(ctx, b)
	for i, o := range b.Orders {
		if o.OrderID == "known" {
			result.Outcomes[i].Kind = stock.Known
		}
	}
	return result, err
}

// TestAReplayIsExpectedAfterAReplay: for a while, and not for ever.
func TestAReplayIsExpectedAfterAReplay(t *testing.T) {
	store := &familiar{}
	s := selling.NewService(selling.Config{Store: store})
	ask := func(id string) {
		if _, _, err := s.Deduct(t.Context(), sku, stock.Order{OrderID: id, Quantity: 1}); err != nil {
			t.Fatal(err)
		}
	}
	ask("a")
	ask("known")
	for range 65 {
		ask("b")
	}
	if err := s.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	for i, got := range store.again {
		if want := i >= 2 && i < 66; got != want {
			t.Errorf("batch %d: replays expected: %v, want %v", i+1, got, want)
		}
	}
}
