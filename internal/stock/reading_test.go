package stock_test

import (
	"context"
	"testing"
	"time"

	"inventory/internal/stock"
)

// slowReads is a store whose reads wait until they are let go.
type slowReads struct {
	endless
	begun chan context.Context
	gate  chan struct{}
}

func (s slowReads) Status(ctx context.Context, sku string, _ time.Time) (stock.Status, error) {
	s.begun <- ctx
	<-s.gate
	return stock.Status{SKU: sku}, ctx.Err()
}

// TestReadersLeaveConnections: readers are bounded, and one who hangs up does not cost the connection of the statement.
func TestReadersLeaveConnections(t *testing.T) {
	t.Parallel()
	store := slowReads{begun: make(chan context.Context, 64), gate: make(chan struct{})}
	s := stock.NewService(stock.Config{Store: store})
	leaving, leave := context.WithCancel(t.Context())
	errs := make(chan error, 64)
	for range cap(errs) {
		go func() {
			_, err := s.SKU(leaving, sku)
			errs <- err
		}()
	}
	const most = 8
	for range most {
		<-store.begun
	}
	leave()
	for range cap(errs) - most {
		if err := <-errs; stock.CodeOf(err) != stock.CodeUnavailable {
			t.Errorf("a reader who waited and left: %v", err)
		}
	}
	close(store.gate)
	for range most {
		if err := <-errs; err != nil {
			t.Errorf("a reader who left while the statement ran: %v", err)
		}
	}
	if n := len(store.begun); n > 0 {
		t.Errorf("%d more reads began", n)
	}
	if err := s.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
}
