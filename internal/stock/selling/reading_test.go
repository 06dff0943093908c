package selling_test

import (
	"context"
	"testing"
	"time"

	"inventory/internal/stock"
	"inventory/internal/stock/selling"
)

// slowReads is a store whose reads wait until they are let go.
type slowReads struct {
	endless
	begun chan struct{}
	gate  chan struct{}
}

func (s slowReads) Status(_ context.Context, sku string, _ time.Time) (stock.Status, error) {
	s.begun <- struct{}{}
	<-s.gate
	return stock.Status{SKU: sku}, nil
}

// TestReadersLeaveConnections: however many callers read, some connections are left for writes.
func TestReadersLeaveConnections(t *testing.T) {
	t.Parallel()
	store := slowReads{begun: make(chan struct{}, 64), gate: make(chan struct{})}
	s := selling.NewService(selling.Config{Store: store})
	patience, leave := context.WithCancel(t.Context())
	errs := make(chan error, 64)
	const most = 8
	for n := range cap(errs) {
		ctx := t.Context()
		if n >= most {
			ctx = patience
		}
		go func() {
			_, err := s.SKU(ctx, sku)
			errs <- err
		}()
		if n < most {
			<-store.begun
		}
	}
	leave()
	for range cap(errs) - most {
		if err := <-errs; stock.CodeOf(err) != stock.CodeUnavailable {
			t.Errorf("a reader who waited and left: %v, want %s", err, stock.CodeUnavailable)
		}
	}
	close(store.gate)
	for range most {
		if err := <-errs; err != nil {
			t.Errorf("a reader: %v", err)
		}
	}
	if n := len(store.begun); n > 0 {
		t.Errorf("%d more reads began", n)
	}
	if err := s.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
}
