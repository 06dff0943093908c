package selling_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"

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
	virtually(t, embedded, func(t *testing.T, w *world) {
		store := &lateLook{Store: w.store, seen: make(chan struct{}), tell: make(chan struct{})}
		s, other := w.startOn(store, nil), w.start(nil)
		before := w.asks(s, "a", 1)
		<-store.seen
		w.create(other, 2, 1)
		after := make(chan []selling.Result, 1)
		go func() {
			after <- w.deductAll(s, []stock.Order{{OrderID: "a", Quantity: 1}, {OrderID: "b", Quantity: 1}})
		}()
		synctest.Wait() // a once more, and b
		close(store.tell)
		if code := <-before; code != stock.CodeUnknownSKU && code != "" {
			t.Errorf("the one that came before was told %q", code)
		}
		for i, r := range <-after {
			if r.Err != nil {
				t.Errorf("order %d of the one that came after was told %v", i, r.Err)
			}
		}
	})
}
