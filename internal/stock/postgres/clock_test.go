package postgres_test

import (
	"errors"
	"testing"
	"time"

	"inventory/internal/busytest"
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
				s := selling.NewService(selling.Config{Store: joining{store}, AnswerWithin: busytest.Patience})
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
			s := selling.NewService(selling.Config{Store: store, AnswerWithin: busytest.Patience})
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

// TestReadsOfReservationsLearnTheClock, which was set forward by a minute since this process read it: who reads a reservation has to see
// whether it has expired.
func TestReadsOfReservationsLearnTheClock(t *testing.T) {
	t.Parallel()
	for name, read := range map[string]func(s *postgres.Store) error{
		"a deduction": func(s *postgres.Store) error {
			_, err := s.Deduction(t.Context(), "a", "o")
			return err
		},
		"deductions": func(s *postgres.Store) error {
			_, err := s.Deductions(t.Context(), "a", []string{"o"})
			return err
		},
		"an order of several SKUs": func(s *postgres.Store) error {
			_, err := s.PlacedOrder(t.Context(), "o")
			return err
		},
		"a view": func(s *postgres.Store) error {
			_, err := s.Views(t.Context(), "a")
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store, conn := fresh(t, 9)
			if _, _, err := store.Order(t.Context(), several("o", "a")); err != nil {
				t.Fatal(err)
			}
			store.ClockSetForward(time.Minute)
			var before time.Time
			if err := errors.Join(conn.QueryRow(t.Context(), `SELECT clock_timestamp()`).Scan(&before), read(store)); err != nil {
				t.Fatal(err)
			}
			if earliest, _ := store.Clock("a"); earliest.Before(before) {
				t.Errorf("the clock is taken for %v behind", before.Sub(earliest))
			}
		})
	}
}

// TestWritesAreInTimeAfterTheClockWasSet: the database's clock was set forward since this process read it. No write takes
// itself for late, whatever a process does first after that.
func TestWritesAreInTimeAfterTheClockWasSet(t *testing.T) {
	t.Parallel()
	settle := func(verb stock.Verb) func(s *selling.Service) error {
		return func(s *selling.Service) error {
			to := stock.SettleRequest{Verb: verb, OrderID: "o"}
			if verb == stock.Extend {
				to.Ref, to.ExtendFor = "r", 3*time.Hour
			}
			_, err := s.SettleOrder(t.Context(), to, false)
			return err
		}
	}
	move := func(quantity int64) func(s *selling.Service) error {
		return func(s *selling.Service) error {
			_, err := s.Move(t.Context(), stock.Movement{SKU: "a", Ref: "r", Kind: stock.Adjusted, Quantity: quantity})
			return err
		}
	}
	for name, write := range map[string]func(s *selling.Service) error{
		"commit": settle(stock.Commit), "cancel": settle(stock.Cancel), "extend": settle(stock.Extend),
		"add": move(1), "take away": move(-1),
		"create": func(s *selling.Service) error {
			_, _, err := s.CreateSKU(t.Context(), stock.NewSKU{SKU: "b", Segments: 1})
			return err
		},
		"archive": func(s *selling.Service) error {
			_, err := s.Archive(t.Context(), "a")
			return err
		},
		"a batch": func(s *selling.Service) error {
			_, _, err := s.Deduct(t.Context(), "a", stock.Order{OrderID: "p", Quantity: 1})
			return err
		},
		"an order of several SKUs": func(s *selling.Service) error {
			_, _, err := s.Order(t.Context(), stock.MultiOrder{OrderID: "p", Lines: []stock.Line{{SKU: "a", Quantity: 1}}})
			return err
		},
		"a settlement": func(s *selling.Service) error {
			_, err := s.Settle(t.Context(), "a", stock.SettleRequest{OrderID: "single"}, false)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store, _ := fresh(t, 9)
			s := selling.NewService(selling.Config{Store: store, AnswerWithin: busytest.Patience})
			defer func() {
				if err := s.Close(t.Context()); err != nil {
					t.Error(err)
				}
			}()
			order := stock.MultiOrder{OrderID: "o", ReserveFor: time.Hour, Lines: []stock.Line{{SKU: "a", Quantity: 1}}}
			_, _, err := s.Order(t.Context(), order)
			_, _, err2 := s.Deduct(t.Context(), "a", stock.Order{OrderID: "single", Quantity: 1, ReserveFor: time.Hour})
			if err := errors.Join(err, err2); err != nil {
				t.Fatal(err)
			}
			store.ClockSetForward(2 * busytest.Patience) // more than a write may take
			if err := write(s); err != nil {
				t.Error(err)
			}
		})
	}
}
