package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"inventory/internal/stock"
	"inventory/internal/stock/postgres"
)

// TestABatchKeepsItsPlan, and leaves its session as it was: other statements must be planned for tables as they are.
func TestABatchKeepsItsPlan(t *testing.T) {
	t.Parallel()
	url, drop, err := server.CreateDatabase(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	migrate(t, url)
	var only *pgx.Conn // of the pool
	store, err := postgres.Open(t.Context(), url, 1, func(c *pgxpool.Config) {
		c.AfterConnect = func(_ context.Context, made *pgx.Conn) error {
			only = made
			return nil
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(store.Close(), drop(context.WithoutCancel(t.Context()))); err != nil {
			t.Error(err)
		}
	})
	for _, limit := range []int64{0, 3} {
		sku := fmt.Sprint("limit-", limit)
		_, err := store.CreateSKU(t.Context(), stock.NewSKU{SKU: sku, Stock: 9, Segments: 1, Terms: stock.Terms{PerBuyerLimit: limit}}, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		for _, id := range []string{"a", "b", "c"} {
			order := stock.Order{OrderID: id, BuyerID: id, Quantity: 1}
			batch := stock.Batch{SKU: sku, Layout: 1, Limit: limit, At: time.Now(), Orders: []stock.Order{order}}
			if _, err := store.Deduct(t.Context(), batch); err != nil {
				t.Fatal(err)
			}
		}
	}
	rows, err := only.Query(t.Context(), `
SELECT generic_plans, custom_plans, current_setting('plan_cache_mode') || ', ' || current_setting('enable_seqscan')
FROM pg_prepared_statements WHERE statement LIKE '-- Take a batch%'`)
	if err != nil {
		t.Fatal(err)
	}
	var kept, anew, statements int
	var session string
	_, err = pgx.ForEachRow(rows, []any{&kept, &anew, &session}, func() error {
		statements++
		if kept != 3 || anew != 0 || session != "force_custom_plan, on" {
			t.Errorf("of three batches %d used the plan that was kept and %d another; afterwards the session has %s", kept, anew, session)
		}
		return nil
	})
	if err != nil || statements != 2 {
		t.Errorf("%d statements take a batch, %v", statements, err)
	}
}
