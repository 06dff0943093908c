package postgres_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"inventory/internal/stock"
	"inventory/internal/stock/postgres"
)

// TestExpiryThatWaitedForAnExtension: an expiry waits for an extension whose commit is held up until the new end has
// passed too. The row has a newer version than the statement's snapshot, and must expire anyway: otherwise its units
// would come back twice.
func TestExpiryThatWaitedForAnExtension(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(context.Context, *postgres.Store, time.Time) error{
		"expire": func(ctx context.Context, s *postgres.Store, at time.Time) error {
			_, err := s.Expire(ctx, "a", at)
			return err
		},
		"merge": func(ctx context.Context, s *postgres.Store, at time.Time) error {
			_, err := s.Merge(ctx, stock.Batch{SKU: "a", Layout: 1, At: at, Orders: []stock.Order{{OrderID: "o", Quantity: 9}}})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				store, conn := fresh(t, 3)
				at := store.Now()
				reserved := []stock.Order{{OrderID: "r", Quantity: 2, ReserveFor: time.Second}}
				if _, err := store.Deduct(t.Context(), stock.Batch{SKU: "a", Layout: 1, At: at, Orders: reserved}); err != nil {
					t.Fatal(err)
				}
				if _, err := conn.Exec(t.Context(), "BEGIN; UPDATE deductions SET expires_at = expires_at + interval '1 second', reserve_micros = 1000000"); err != nil {
					t.Fatal(err)
				}
				ended := make(chan error, 1)
				go func() { ended <- end(t.Context(), store, at.Add(time.Minute)) }()
				blocking(t, conn, ended)
				if _, err := conn.Exec(t.Context(), "COMMIT"); err != nil {
					t.Fatal(err)
				}
				if err := <-ended; err != nil {
					t.Fatal(err)
				}
				if d, err := store.Deduction(t.Context(), "a", "r"); err != nil || d.Status != stock.StatusExpired {
					t.Errorf("%+v, %v", d, err)
				}
				if audit, err := store.Audit(t.Context(), ""); err != nil || !audit.OK() {
					t.Errorf("audit: got %+v, %v, want no difference and no violation", audit, err)
				}
			})
		})
	}
}
