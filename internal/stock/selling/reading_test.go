package selling_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"inventory/internal/stock"
	"inventory/internal/stock/selling"
)

// slowReads is a store whose reads wait until they are let go.
type slowReads struct {
	endless
	begun atomic.Int64
	gate  chan struct{}
}

func (s *slowReads) Status(_ context.Context, sku string, _ time.Time) (stock.Status, error) {
	s.begun.Add(1)
	<-s.gate
	return stock.Status{SKU: sku}, nil
}

// TestReadersLeaveConnections: however many callers read, some connections are left for writes.
func TestReadersLeaveConnections(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const most = 8
		store := &slowReads{gate: make(chan struct{})}
		s := serve(t, selling.Config{Store: store})
		var readers, waiting sync.WaitGroup
		read := func(ctx context.Context, group *sync.WaitGroup, n int, want stock.Code) {
			for range n {
				group.Go(func() {
					if _, err := s.SKU(ctx, sku); stock.CodeOf(err) != want {
						t.Errorf("a reader: %v, want %q", err, want)
					}
				})
			}
			synctest.Wait()
		}
		patience, leave := context.WithCancel(t.Context())
		read(t.Context(), &readers, most, "")
		read(patience, &waiting, 56, stock.CodeUnavailable)
		leave()
		waiting.Wait()
		close(store.gate)
		readers.Wait()
		if n := store.begun.Load(); n != most {
			t.Errorf("%d reads began, want %d", n, most)
		}
	})
}
