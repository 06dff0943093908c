package postgres_test

import (
	"testing"
	"time"

	"inventory/internal/stock"
	"inventory/internal/stock/postgres"
	"inventory/internal/stock/selling"
)

// TestASaleBeginsByTheClockOfTheDatabase, also for a process that has not written since that clock was set forward by
// an hour: it must not refuse orders.
func TestASaleBeginsByTheClockOfTheDatabase(t *testing.T) {
	t.Parallel()
	for name, buy := range map[string]func(s *selling.Service) error{
		"an order": func(s *selling.Service) error {
			_, _, err := s.Deduct(t.Context(), "b", stock.Order{OrderID: "o", Quantity: 1})
			return err
		},
		"an order of several SKUs": func(s *selling.Service) error {
			_, _, err := s.Order(t.Context(), stock.MultiOrder{OrderID: "o", Lines: []stock.Line{{SKU: "b", Quantity: 1}}})
			return err
		},
	} {
		for way, sharing := range map[string]postgres.Sharing{"alone": postgres.ShareNothing, "shared": postgres.ShareAll} {
			t.Run(name+", "+way, func(t *testing.T) {
				t.Parallel()
				store, _ := fresh(t, 1)
				store.Share(sharing)
				s := selling.NewService(selling.Config{Store: store})
				defer func() {
					if err := s.Close(t.Context()); err != nil {
						t.Error(err)
					}
				}()
				begins := stock.Terms{SaleStartsAt: store.Now().Add(-time.Second).Truncate(time.Microsecond)}
				if _, _, err := s.CreateSKU(t.Context(), stock.NewSKU{SKU: "b", Stock: 9, Segments: 1, Terms: begins}); err != nil {
					t.Fatal(err)
				}
				store.ClockSetForward(time.Minute)
				if err := buy(s); err != nil {
					t.Error(err)
				}
			})
		}
	}
}
