package postgres_test

import (
	"context"
	"testing"
	"time"

	"inventory/internal/stock"
	"inventory/internal/stock/postgres"
)

// TestTheSaleEndsWhileABuyerIsWaitedFor: another transaction holds the row of the buyer until the sale is over. An
// order that waits for it is decided by the clock after the wait.
func TestTheSaleEndsWhileABuyerIsWaitedFor(t *testing.T) {
	t.Parallel()
	for name, sell := range map[string]func(context.Context, *postgres.Store, stock.SaleWindow) error{
		"an order of several SKUs": func(ctx context.Context, s *postgres.Store, window stock.SaleWindow) error {
			p := several("o", "a")
			p.Lines[0].Limit, p.Lines[0].SaleWindow = 3, window
			_, _, err := s.Order(ctx, p)
			return err
		},
		"a batch that goes order by order": func(ctx context.Context, s *postgres.Store, window stock.SaleWindow) error {
			orders := []stock.Order{{OrderID: "o", BuyerID: "x", Quantity: 1}, {OrderID: "p", BuyerID: "y", Quantity: 100}}
			result, err := s.Deduct(ctx, stock.Batch{SKU: "a", Layout: 1, Limit: 3, SaleWindow: window, Orders: orders})
			if err == nil && result.Outcomes[0].Kind == stock.Closed {
				err = window.Refusal("a", result.At)
			}
			return err
		},
	} {
		for held, hold := range map[string]string{
			"a buyer who has bought before": "INSERT INTO buyers VALUES ('a', 'x', 0, 3); COMMIT; BEGIN; SELECT FROM buyers FOR UPDATE",
			"a new buyer":                   "INSERT INTO buyers VALUES ('a', 'x', 0, 3)",
		} {
			t.Run(name+", "+held, func(t *testing.T) {
				t.Parallel()
				if err := sellWhileHeld(t, "BEGIN; "+hold, sell); stock.CodeOf(err) != stock.CodeSaleClosed {
					t.Errorf("got %v, want %s", err, stock.CodeSaleClosed)
				}
			})
		}
	}
}

// sellWhileHeld sells something that a transaction holds up until after the sale.
func sellWhileHeld(t *testing.T, hold string, sell func(context.Context, *postgres.Store, stock.SaleWindow) error) error {
	t.Helper()
	const soon = 200 * time.Millisecond
	store, conn := fresh(t, 9)
	if _, err := conn.Exec(t.Context(), hold); err != nil {
		t.Fatal(err)
	}
	window := stock.SaleWindow{EndsAt: store.Now().Add(soon)}
	sold := make(chan error, 1)
	go func() { sold <- sell(t.Context(), store, window) }()
	blocking(t, conn, sold)
	time.Sleep(2 * soon) // the test needs this time to pass
	if _, err := conn.Exec(t.Context(), "COMMIT"); err != nil {
		t.Fatal(err)
	}
	return <-sold
}
