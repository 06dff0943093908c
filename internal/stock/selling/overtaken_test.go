package selling_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"inventory/internal/stock"
	"inventory/internal/stock/selling"
)

// overtaking is a store in which the first writes of orders find that the SKU has changed since it was read, as if another
// process had given it other segments each time.
type overtaking struct {
	stock.Store
	left atomic.Int64
}

func (s *overtaking) overtaken() bool { return s.left.Add(-1) >= 0 }

func (s *overtaking) Deduct(ctx context.Context, batch stock.Batch) (stock.BatchResult, error) {
	if s.overtaken() {
		return stock.BatchResult{}, stock.ErrLayout
	}
	return s.Store.Deduct(ctx, batch)
}

func (s *overtaking) Order(ctx context.Context, p stock.Placement) ([]stock.Deduction, bool, error) {
	if s.overtaken() {
		return nil, false, stock.ErrLayout
	}
	return s.Store.Order(ctx, p)
}

// TestAnOvertakenOrderIsTriedUntilItsDeadline: an order that changes of its SKU overtake is sold when they end. If they do not
// end before its deadline, the answer says that nothing was written.
func TestAnOvertakenOrderIsTriedUntilItsDeadline(t *testing.T) {
	t.Parallel()
	const overtakes, short = 40, 300 * time.Millisecond
	for name, buy := range map[string]func(ctx context.Context, s *selling.Service, id string) error{
		"an order": func(ctx context.Context, s *selling.Service, id string) error {
			_, _, err := s.Deduct(ctx, sku, stock.Order{OrderID: id, Quantity: 1})
			return err
		},
		"an order of several SKUs": func(ctx context.Context, s *selling.Service, id string) error {
			_, _, err := s.Order(ctx, multi(id, sku))
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			virtually(t, embedded, func(t *testing.T, w *world) {
				store := &overtaking{Store: w.store}
				s := w.startOn(store, nil)
				w.create(s, 10, 2)
				store.left.Store(overtakes)
				if err := buy(t.Context(), s, "sold"); err != nil {
					t.Errorf("overtaken %d times: %v", overtakes, err)
				}
				store.left.Store(1 << 40)
				err := buy(t.Context(), w.serve(selling.Config{Store: store, AnswerWithin: short}), "never")
				if !errors.Is(err, stock.ErrUnwritten) || strings.Contains(err.Error(), "not known") {
					t.Errorf("overtaken until the deadline: got %v, want that nothing was written", err)
				}
				if b := w.audit(); b.Committed != 1 {
					t.Errorf("%d units are sold, want 1", b.Committed)
				}
			})
		})
	}
}

// blind is a store whose status cannot be read.
type blind struct{ stock.Store }

func (blind) Status(context.Context, string, time.Time) (stock.Status, error) {
	return stock.Status{}, errors.New("blind on purpose")
}

// TestAWriteIsNotDeniedBecauseItCannotBeRead: a SKU is created, and archived, but cannot be read afterwards. The answer does not say
// that nothing was written, unless that is so.
func TestAWriteIsNotDeniedBecauseItCannotBeRead(t *testing.T) {
	t.Parallel()
	virtually(t, embedded, func(t *testing.T, w *world) {
		s := w.startOn(blind{w.store}, nil)
		create := func() error {
			_, _, err := s.CreateSKU(t.Context(), stock.NewSKU{SKU: "new", Stock: 1, Segments: 1})
			return err
		}
		archive := func() error {
			_, err := s.Archive(t.Context(), "new")
			return err
		}
		for _, step := range []struct {
			name    string
			do      func() error
			written bool
		}{{"create", create, true}, {"create again", create, false}, {"archive", archive, true}, {"archive again", archive, false}} {
			err := step.do()
			if stock.CodeOf(err) != stock.CodeUnavailable || errors.Is(err, stock.ErrUnwritten) == step.written {
				t.Errorf("%s: got %v, want that nothing was written: %t", step.name, err, !step.written)
			}
		}
	})
}

// farAhead comes after anything that a test does, in virtual time and by the clock of a server.
var farAhead = time.Date(2999, 1, 1, 0, 0, 0, 0, time.UTC)

// TestAPrunedOrderSellsInNoNamespace: the shop's order of several SKUs for a buyer was pruned. The buyer's token cannot sell under
// its id, neither the same nor another SKU; another buyer's can, as before.
func TestAPrunedOrderSellsInNoNamespace(t *testing.T) {
	eachShop(t, []int64{10, 10}, func(t *testing.T, w *world, services []*selling.Service) {
		s, sku, later := services[0], shopSKU(0), shopSKU(1)
		order := multi("o", sku)
		if _, _, err := s.Order(t.Context(), order); err != nil {
			t.Fatal(err)
		}
		order.Own = true
		buy := func(when, sku, buyer string, want stock.Code) {
			t.Helper()
			order := order
			order.BuyerID, order.Lines = buyer, []stock.Line{{SKU: sku, Quantity: 1}}
			if lines, created, err := s.Order(t.Context(), order); stock.CodeOf(err) != want {
				t.Errorf("%s, %s of %s: got %+v, %v, %v, want %q", when, buyer, sku, lines, created, err, want)
			}
		}
		buy("live", sku, "x", "")
		buy("live", later, "x", stock.CodeOrderIDReused)
		if _, err := s.Archive(t.Context(), sku); err != nil {
			t.Fatal(err)
		}
		pruned, err := w.store.Prune(t.Context(), stock.Pruning{SKU: sku, OrderIDs: []string{"o"}, Before: farAhead})
		if err != nil || pruned.Deductions != 1 {
			t.Fatalf("pruned %+v, %v", pruned, err)
		}
		buy("pruned", sku, "x", stock.CodeSKUArchived)
		buy("pruned", later, "x", stock.CodeOrderIDReused)
		buy("pruned", later, "y", "")
	})
}
