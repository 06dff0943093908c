package selling_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"inventory/internal/stock"
)

// meanwhile is a store where something happens once, when two SKUs have been looked at.
type meanwhile struct {
	stock.Store
	once sync.Once
	do   func()
}

func (m *meanwhile) Views(ctx context.Context, skus ...string) (map[string]stock.View, error) {
	views, err := m.Store.Views(ctx, skus...)
	if len(skus) > 1 {
		m.once.Do(m.do)
	}
	return views, err
}

// TestAnOrderIsWrittenByTheTermsThatAllowIt: while an order is about to be written, another one reads the SKU again, on new terms. These do
// not allow the first one.
func TestAnOrderIsWrittenByTheTermsThatAllowIt(t *testing.T) {
	t.Parallel()
	virtually(t, silent, func(t *testing.T, w *world) {
		store := &meanwhile{Store: w.store}
		s, other := w.startOn(store, nil), w.start(nil)
		w.create(other, 20, 2)
		if _, _, err := other.CreateSKU(t.Context(), stock.NewSKU{SKU: "another", Stock: 20, Segments: 2}); err != nil {
			t.Fatal(err)
		}
		store.do = func() {
			time.Sleep(time.Millisecond) // in virtual time: the next read is younger
			w.reterm(other, stock.TermsChange{MaxQuantity: stock.To[int64](1)})
			w.mustTake(s, stock.Order{OrderID: "single", Quantity: 1})
		}
		order := stock.MultiOrder{OrderID: "basket", Lines: []stock.Line{{SKU: sku, Quantity: 3}, {SKU: "another", Quantity: 1}}}
		if lines, _, err := s.Order(t.Context(), order); stock.CodeOf(err) != stock.CodeInvalidRequest {
			t.Errorf("an order of three where one is allowed: %+v, %v, want %s", lines, err, stock.CodeInvalidRequest)
		}
		if audit, err := s.Audit(t.Context(), ""); err != nil || !audit.OK() {
			t.Errorf("%+v, %v", audit, err)
		}
	})
}
