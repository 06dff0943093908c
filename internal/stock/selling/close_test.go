package selling

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"inventory/internal/stock"
)

// held is a store of one SKU that lets no write end until it is released.
type held struct {
	idle
	writes  int
	release chan struct{}
}

func (h *held) write() {
	h.writes++
	<-h.release
}

func (*held) Views(context.Context, ...string) (map[string]stock.View, error) {
	return map[string]stock.View{"a": {Layout: 1, Segments: []int64{9}}}, nil
}

func (*held) Status(context.Context, string, time.Time) (stock.Status, error) {
	return stock.Status{}, nil
}

func (*held) Now() time.Time { return time.Now() }

func (h *held) Order(context.Context, stock.Placement) ([]stock.Deduction, bool, error) {
	h.write()
	return []stock.Deduction{{SKU: "a"}}, true, nil
}

func (h *held) Move(context.Context, stock.Movement) (bool, error) {
	h.write()
	return true, nil
}

func (h *held) CreateSKU(context.Context, stock.NewSKU, time.Time) (bool, error) {
	h.write()
	return true, nil
}

func (h *held) Archive(context.Context, string, time.Time) (bool, error) {
	h.write()
	return true, nil
}

// TestCloseFinishesEveryWrite: it waits for one that is under way, and none begins after it.
func TestCloseFinishesEveryWrite(t *testing.T) {
	for name, write := range map[string]func(context.Context, *Service) error{
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
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := &held{release: make(chan struct{})}
				s := NewService(Config{Store: store})
				wrote, closed := make(chan error, 1), make(chan error, 1)
				go func() { wrote <- write(t.Context(), s) }()
				synctest.Wait()
				go func() { closed <- s.Close(t.Context()) }()
				synctest.Wait()
				if len(closed) > 0 {
					t.Error("Close has not waited")
				}
				close(store.release)
				if err := <-wrote; err != nil {
					t.Errorf("the write under way: %v", err)
				}
				if err := <-closed; err != nil {
					t.Error(err)
				}
				if err := write(t.Context(), s); stock.CodeOf(err) != stock.CodeUnavailable || store.writes > 1 {
					t.Errorf("after Close: %v, and %d writes", err, store.writes-1)
				}
			})
		})
	}
}
