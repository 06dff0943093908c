package postgres_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"inventory/internal/busytest"
	"inventory/internal/stock"
	"inventory/internal/stock/postgres"
	"inventory/internal/stock/tables"
)

// expiries are the writes that end reservations.
func expiries() map[string]func(context.Context, *postgres.Store, time.Time) error {
	return map[string]func(context.Context, *postgres.Store, time.Time) error{
		"expire": func(ctx context.Context, s *postgres.Store, at time.Time) error {
			_, err := s.Expire(ctx, "a", at)
			return err
		},
		"merge": func(ctx context.Context, s *postgres.Store, at time.Time) error {
			_, err := s.Merge(ctx, stock.Batch{SKU: "a", Layout: 1, At: at, Orders: []stock.Order{{OrderID: "o", Quantity: 9}}})
			return err
		},
	}
}

// reserve reserves two units for a second, and returns the instant.
func reserve(t *testing.T, store *postgres.Store) (at time.Time) {
	t.Helper()
	at = store.Now()
	reserved := []stock.Order{{OrderID: "r", Quantity: 2, ReserveFor: time.Second}}
	if _, err := store.Deduct(t.Context(), stock.Batch{SKU: "a", Layout: 1, At: at, Orders: reserved}); err != nil {
		t.Fatal(err)
	}
	return at
}

// ended checks that the reservation of reserve has ended or not, and the audit.
func ended(t *testing.T, store *postgres.Store, want stock.DeductionStatus) {
	t.Helper()
	if d, err := store.Deduction(t.Context(), "a", "r"); err != nil || d.Status != want {
		t.Errorf("%+v, %v, want %s", d, err, want)
	}
	if audit, err := store.Audit(t.Context(), "", nil); err != nil || !audit.OK() {
		t.Errorf("audit: got %+v, %v, want no difference and no violation", audit, err)
	}
}

// TestExpiryDoesNotWaitForOneOrder: somebody holds the row of a reservation that has expired. The statement that ends reservations leaves it out, and
// ends it when the row is free.
func TestExpiryDoesNotWaitForOneOrder(t *testing.T) {
	t.Parallel()
	for name, end := range expiries() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			busytest.Virtual(t, func(t *testing.T) {
				store, conn := fresh(t, 3)
				at := reserve(t, store)
				if _, err := conn.Exec(t.Context(), "BEGIN; SELECT FROM deductions FOR UPDATE"); err != nil {
					t.Fatal(err)
				}
				if err := end(t.Context(), store, at.Add(time.Minute)); err != nil {
					t.Fatal(err)
				}
				ended(t, store, stock.StatusReserved)
				if _, err := conn.Exec(t.Context(), "ROLLBACK"); err != nil {
					t.Fatal(err)
				}
				if err := end(t.Context(), store, at.Add(time.Minute)); err != nil {
					t.Fatal(err)
				}
				ended(t, store, stock.StatusExpired)
			})
		})
	}
}

// TestExpiryThatWaitedForAnExtension: an expiry meets an extension that was committed after its snapshot, and whose new end has
// passed too. The row has a newer version than the snapshot, and must expire anyway: otherwise its units would come back twice. The
// test has the statement wait for the extension, which it does not do otherwise.
func TestExpiryThatWaitedForAnExtension(t *testing.T) {
	t.Parallel()
	for name, end := range expiries() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			busytest.Virtual(t, func(t *testing.T) {
				store, conn := fresh(t, 3)
				store = store.With(postgres.Access{SQL: func(name string) tables.SQL {
					sql := postgres.Statements().Of(name)
					if name == "expire" {
						sql.Text = strings.Replace(sql.Text, "FOR UPDATE SKIP LOCKED", "FOR UPDATE", 1)
					}
					return sql
				}})
				at := reserve(t, store)
				if _, err := conn.Exec(t.Context(), "BEGIN; UPDATE deductions SET expires_at = expires_at + interval '1 second', reserve_micros = 1000000"); err != nil {
					t.Fatal(err)
				}
				over := make(chan error, 1)
				go func() { over <- end(t.Context(), store, at.Add(time.Minute)) }()
				blocking(t, conn, over)
				if _, err := conn.Exec(t.Context(), "COMMIT"); err != nil {
					t.Fatal(err)
				}
				if err := <-over; err != nil {
					t.Fatal(err)
				}
				ended(t, store, stock.StatusExpired)
			})
		})
	}
}

// TestManyExpireAroundAHeldRow: somebody holds a segment's row. The units of other rows come back at once, unless the SKU counts buyers:
// then all rows are needed, and the buyer's.
func TestManyExpireAroundAHeldRow(t *testing.T) {
	t.Parallel()
	busytest.Virtual(t, func(t *testing.T) {
		store, conn := fresh(t, 3)
		at := store.Now()
		for sku, limit := range map[string]int64{"plain": 0, "limited": 9} {
			terms := stock.Terms{PerBuyerLimit: limit}
			if _, err := store.CreateSKU(t.Context(), stock.NewSKU{SKU: sku, Stock: 9, Segments: 3, Terms: terms}, at); err != nil {
				t.Fatal(err)
			}
			for segment := range 2 {
				one := stock.Order{OrderID: strings.Repeat("o", segment+1), BuyerID: "x", Quantity: 1, ReserveFor: time.Second}
				batch := stock.Batch{SKU: sku, Layout: 1, Limit: limit, Segment: segment, At: at, Orders: []stock.Order{one}}
				if _, err := store.Deduct(t.Context(), batch); err != nil {
					t.Fatal(err)
				}
			}
		}
		expire := func(want map[string]int) {
			t.Helper()
			got, err := store.ExpireFree(t.Context(), at.Add(time.Minute), "limited", "plain")
			if err != nil || len(got) != len(want) || got["plain"].Reservations != want["plain"] || got["limited"].Reservations != want["limited"] {
				t.Errorf("ended %+v, %v, want %v", got, err, want)
			}
		}
		if _, err := conn.Exec(t.Context(), `BEGIN; SELECT FROM stock_segments WHERE segment = 0 FOR UPDATE`); err != nil {
			t.Fatal(err)
		}
		expire(map[string]int{"plain": 1})
		if _, err := conn.Exec(t.Context(), `ROLLBACK`); err != nil {
			t.Fatal(err)
		}
		if _, err := conn.Exec(t.Context(), `BEGIN; SELECT FROM buyers FOR UPDATE`); err != nil {
			t.Fatal(err)
		}
		expire(map[string]int{"plain": 1})
		if _, err := conn.Exec(t.Context(), `ROLLBACK`); err != nil {
			t.Fatal(err)
		}
		expire(map[string]int{"limited": 2})
		expire(nil)
		var counted int
		if err := conn.QueryRow(t.Context(), `SELECT coalesce(sum(units), 0) FROM buyers`).Scan(&counted); err != nil || counted != 0 {
			t.Errorf("buyers are counted with %d units, %v", counted, err)
		}
		if audit, err := store.Audit(t.Context(), "", nil); err != nil || !audit.OK() {
			t.Errorf("audit: got %+v, %v, want no difference and no violation", audit, err)
		}
	})
}

// TestASweepThatFailsHasEndedNothing: the transaction of a sweep fails when it commits. It reports no reservation as ended.
func TestASweepThatFailsHasEndedNothing(t *testing.T) {
	t.Parallel()
	store, conn := fresh(t, 3)
	at := reserve(t, store)
	if _, err := conn.Exec(t.Context(), `
		CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'refused'; END $$;
		CREATE CONSTRAINT TRIGGER refuse AFTER UPDATE ON deductions DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION refuse()`); err != nil {
		t.Fatal(err)
	}
	if got, err := store.ExpireFree(t.Context(), at.Add(time.Minute), "a"); err == nil || len(got) != 0 {
		t.Errorf("ended %+v, %v, want none and an error", got, err)
	}
	if n, err := store.Expire(t.Context(), "a", at.Add(time.Minute)); err == nil || n != 0 {
		t.Errorf("ended %d, %v, want none and an error", n, err)
	}
	ended(t, store, stock.StatusReserved)
}
