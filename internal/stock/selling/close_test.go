package selling

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"inventory/internal/busytest"
	"inventory/internal/stock"
)

// held is a store of one SKU that lets no write end until it is released.
type held struct {
	idle
	writes  int
	release chan struct{}
}

func (h *held) write(ctx context.Context) error {
	h.writes++
	select {
	case <-h.release:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (*held) Views(context.Context, ...string) (map[string]stock.View, error) {
	return map[string]stock.View{"a": {Layout: 1, Segments: []int64{9}}}, nil
}

func (*held) Status(context.Context, string, time.Time) (stock.Status, error) {
	return stock.Status{}, nil
}

func (*held) Now() time.Time { return time.Now() }

func (*held) Clock(string) (earliest, latest time.Time) { return time.Now(), time.Now() }

func (h *held) Order(ctx context.Context, _ stock.Placement) ([]stock.Deduction, bool, error) {
	return []stock.Deduction{{SKU: "a", Status: stock.StatusCommitted}}, true, h.write(ctx)
}

func (h *held) Move(ctx context.Context, _ stock.Movement) (bool, error) { return true, h.write(ctx) }

func (h *held) CreateSKU(ctx context.Context, _ stock.NewSKU, _ time.Time) (bool, error) {
	return true, h.write(ctx)
}

func (h *held) Archive(ctx context.Context, _ string, _ time.Time) (bool, error) {
	return true, h.write(ctx)
}

// directWrites are the writes that no worker makes.
func directWrites() map[string]func(context.Context, *Service) error {
	return map[string]func(context.Context, *Service) error{
		"order": func(ctx context.Context, s *Service) error {
			_, _, err := s.Order(ctx, stock.MultiOrder{OrderID: "o", Lines: []stock.Line{{SKU: "a", Quantity: 1}}})
			return err
		},
		"restock": func(ctx context.Context, s *Service) error {
			_, err := s.Move(ctx, stock.Movement{SKU: "a", Ref: "r", Kind: stock.Restocked, Quantity: 1})
			return err
		},
		"creation": func(ctx context.Context, s *Service) error {
			_, _, err := s.CreateSKU(ctx, stock.NewSKU{SKU: "a", Segments: 1})
			return err
		},
		"archive": func(ctx context.Context, s *Service) error {
			_, err := s.Archive(ctx, "a")
			return err
		},
	}
}

// TestCloseFinishesEveryWrite: it waits for one that is under way, and none begins after it.
func TestCloseFinishesEveryWrite(t *testing.T) {
	t.Parallel()
	for name, write := range directWrites() {
		busytest.Virtual(t, func(t *testing.T) {
			store := &held{release: make(chan struct{})}
			s := NewService(Config{Store: store})
			wrote, closed := make(chan error, 1), make(chan error, 1)
			go func() { wrote <- write(t.Context(), s) }()
			synctest.Wait()
			go func() { closed <- s.Close(t.Context()) }()
			synctest.Wait()
			if len(closed) > 0 {
				t.Errorf("%s: Close has not waited", name)
			}
			close(store.release)
			if err := errors.Join(<-wrote, <-closed); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			if err := write(t.Context(), s); stock.CodeOf(err) != stock.CodeUnavailable || store.writes > 1 {
				t.Errorf("%s after Close: %v, and %d writes", name, err, store.writes-1)
			}
		})
	}
}

// TestCloseEndsWritesThatTakeTooLong, and tells their callers that the outcome is not known.
func TestCloseEndsWritesThatTakeTooLong(t *testing.T) {
	t.Parallel()
	for name, write := range directWrites() {
		busytest.Virtual(t, func(t *testing.T) {
			s := NewService(Config{Store: &held{}})
			wrote := make(chan error, 1)
			go func() { wrote <- write(t.Context(), s) }()
			synctest.Wait()
			gone, cancel := context.WithCancel(t.Context())
			cancel()
			start := time.Now()
			if err := s.Close(gone); !errors.Is(err, context.Canceled) || time.Since(start) > 0 {
				t.Errorf("%s: Close took %s, and returned %v", name, time.Since(start), err)
			}
			if err := <-wrote; stock.CodeOf(err) != stock.CodeUnavailable {
				t.Errorf("%s: %v, want %s", name, err, stock.CodeUnavailable)
			}
		})
	}
}
