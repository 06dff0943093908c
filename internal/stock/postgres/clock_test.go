package postgres_test

import (
	"errors"
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
				store.SetSharing(sharing)
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

// TestAnExpiredReservationIsToldOnTime, also by a process that has looked at the database's clock once, slowly: so it takes that
// clock for late.
func TestAnExpiredReservationIsToldOnTime(t *testing.T) {
	t.Parallel()
	const late = 400 * time.Millisecond
	order := stock.Order{OrderID: "o", Quantity: 1, ReserveFor: stock.MinReserve}
	for name, tell := range map[string]func(s *selling.Service) (stock.Deduction, error){
		"a read": func(s *selling.Service) (stock.Deduction, error) { return s.Deduction(t.Context(), "a", "o", "") },
		"the order again": func(s *selling.Service) (stock.Deduction, error) {
			d, _, err := s.Deduct(t.Context(), "a", order)
			return d, err
		},
		"many orders again": func(s *selling.Service) (stock.Deduction, error) {
			results, err := s.DeductAll(t.Context(), "", []selling.SKUOrder{{SKU: "a", Order: order}})
			if err != nil {
				return stock.Deduction{}, err
			}
			return results[0].Deduction, results[0].Err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store, conn := fresh(t, 9)
			s := selling.NewService(selling.Config{Store: store})
			defer func() {
				if err := s.Close(t.Context()); err != nil {
					t.Error(err)
				}
			}()
			reserved, _, err := s.Deduct(t.Context(), "a", order)
			if err != nil {
				t.Fatal(err)
			}
			_, err = conn.Exec(t.Context(), `SELECT pg_sleep(extract(epoch FROM $1::timestamptz - clock_timestamp()))`, reserved.ExpiresAt)
			if err != nil {
				t.Fatal(err)
			}
			store.ClockReadSlowly(late)
			d, err := tell(s)
			if ended, ok := errors.AsType[*stock.Error](err); ok && ended.Code == stock.CodeOrderEnded {
				d.Status, err = ended.Status, nil
			}
			if err != nil || d.Status != stock.StatusExpired {
				t.Errorf("got %s, %v after its end, want %s", d.Status, err, stock.StatusExpired)
			}
		})
	}
}
