package selling_test

import (
	"context"
	"runtime"
	"sync"
	"testing"

	"inventory/internal/stock"
	"inventory/internal/stock/selling"
)

// lateLook holds back the answer to the first read of a SKU.
type lateLook struct {
	stock.Store
	first sync.Once
	seen  chan struct{} // closed when it has read
	tell  chan struct{}
}

func (s *lateLook) Views(ctx context.Context, skus ...string) (map[string]stock.View, error) {
	views, err := s.Store.Views(ctx, skus...)
	s.first.Do(func() {
		close(s.seen)
		<-s.tell
	})
	return views, err
}

// TestASKUIsKnownToWhoComesAfterItsCreation: a worker has read that a SKU does not exist. An order that comes after
// another process has created it is not answered from that read, even if it repeats an order that is under way.
func TestASKUIsKnownToWhoComesAfterItsCreation(t *testing.T) {
	t.Parallel()
	w := embedded(t)
	store := &lateLook{Store: w.store, seen: make(chan struct{}), tell: make(chan struct{})}
	s, other := w.startOn(store, nil), w.start(nil)
	before := make(chan error, 1)
	a, b := stock.Order{OrderID: "a", Quantity: 1}, stock.Order{OrderID: "b", Quantity: 1}
	go func() {
		_, _, err := s.Deduct(t.Context(), sku, a)
		before <- err
	}()
	<-store.seen
	w.create(other, 2, 1)
	after := make(chan []selling.Result, 1)
	go func() {
		results, err := s.DeductAll(t.Context(), "", []selling.SKUOrder{{SKU: sku, Order: a}, {SKU: sku, Order: b}})
		if err != nil {
			t.Error(err)
		}
		after <- results
	}()
	for s.Waiting() < 2 { // a once more, and b
		runtime.Gosched()
	}
	close(store.tell)
	if err := <-before; stock.CodeOf(err) != stock.CodeUnknownSKU && err != nil {
		t.Errorf("who came before was told %v", err)
	}
	for i, r := range <-after {
		if r.Err != nil {
			t.Errorf("order %d of who came after was told %v", i, r.Err)
		}
	}
}
