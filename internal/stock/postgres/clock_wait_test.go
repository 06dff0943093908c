package postgres_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"inventory/internal/stock"
	"inventory/internal/stock/postgres"
)

const (
	heldFor     = 250 * time.Millisecond // longer than a statement waits for an order id
	heldReserve = time.Minute
)

// The rows that writes wait for while another transaction holds them.
const (
	anOrderID   = "INSERT INTO deductions (sku_id, order_id, quantity, segment, status, created_at) VALUES ('a', 'o', 1, 0, 'committed', now())"
	aBuyer      = "INSERT INTO buyers VALUES ('a', 'x', 0, 9)"
	aBuyerAgain = "INSERT INTO buyers VALUES ('a', 'x', 0, 9); COMMIT; BEGIN; SELECT FROM buyers FOR UPDATE"
)

// held are writes of one order, with an id and a buyer that another transaction holds.
var heldWrites = map[string]func(ctx context.Context, s *postgres.Store, window stock.SaleWindow) (stock.Deduction, error){
	"a batch": func(ctx context.Context, s *postgres.Store, window stock.SaleWindow) (stock.Deduction, error) {
		return deductHeld(ctx, s, stock.Batch{SaleWindow: window, Orders: []stock.Order{heldOrder()}})
	},
	"a batch of known orders": func(ctx context.Context, s *postgres.Store, window stock.SaleWindow) (stock.Deduction, error) {
		return deductHeld(ctx, s, stock.Batch{SaleWindow: window, Orders: []stock.Order{heldOrder()}})
	},
	"a batch that goes order by order": func(ctx context.Context, s *postgres.Store, window stock.SaleWindow) (stock.Deduction, error) {
		return deductHeld(ctx, s, stock.Batch{SaleWindow: window, Orders: []stock.Order{heldOrder(), {OrderID: "p", BuyerID: "y", Quantity: 100}}})
	},
	"a batch with a buyer limit": func(ctx context.Context, s *postgres.Store, window stock.SaleWindow) (stock.Deduction, error) {
		return deductHeld(ctx, s, stock.Batch{SaleWindow: window, Orders: []stock.Order{heldOrder()}, Limit: 9})
	},
	"a batch with a buyer limit that goes order by order": func(ctx context.Context, s *postgres.Store, window stock.SaleWindow) (stock.Deduction, error) {
		orders := []stock.Order{heldOrder(), {OrderID: "p", BuyerID: "y", Quantity: 100}}
		return deductHeld(ctx, s, stock.Batch{SaleWindow: window, Orders: orders, Limit: 9})
	},
	"an order of several SKUs": func(ctx context.Context, s *postgres.Store, window stock.SaleWindow) (stock.Deduction, error) {
		return placeHeld(ctx, s, stock.Batch{SaleWindow: window})
	},
	"an order of several SKUs with a buyer limit": func(ctx context.Context, s *postgres.Store, window stock.SaleWindow) (stock.Deduction, error) {
		return placeHeld(ctx, s, stock.Batch{SaleWindow: window, Limit: 9})
	},
}

func heldOrder() stock.Order {
	return stock.Order{OrderID: "o", BuyerID: "x", Quantity: 1, ReserveFor: heldReserve}
}

func deductHeld(ctx context.Context, s *postgres.Store, batch stock.Batch) (stock.Deduction, error) {
	batch.SKU, batch.Layout = "a", 1
	result, err := joining{s}.Deduct(ctx, batch)
	if err == nil && result.Outcomes[0].Kind == stock.Closed {
		err = batch.SaleWindow.Refusal("a", result.At)
	}
	if err != nil {
		return stock.Deduction{}, err
	}
	return result.Outcomes[0].Deduction, nil
}

func placeHeld(ctx context.Context, s *postgres.Store, line stock.Batch) (stock.Deduction, error) {
	p := several("o", "a")
	line.Layout = p.Lines[0].Layout
	p.Lines[0].Batch, p.Order.ReserveFor = line, heldReserve
	lines, _, err := s.Order(ctx, p)
	if err != nil {
		return stock.Deduction{}, err
	}
	return lines[0], nil
}

// eachHeldWrite lets each write wait for each thing that it has to wait for.
func eachHeldWrite(t *testing.T, run func(t *testing.T, sharing postgres.Sharing, hold, name string)) {
	t.Helper()
	for name := range heldWrites {
		holds := map[string]string{"an order id": anOrderID}
		if strings.Contains(name, "buyer limit") {
			holds["a new buyer"], holds["a buyer"] = aBuyer, aBuyerAgain
		}
		for what, hold := range holds {
			for way, sharing := range map[string]postgres.Sharing{"alone": postgres.ShareNothing, "shared": postgres.ShareAll} {
				t.Run(name+", "+what+", "+way, func(t *testing.T) {
					t.Parallel()
					run(t, sharing, hold, name)
				})
			}
		}
	}
}

// heldAnswer is the result of a write that was held up until an instant of the database's clock.
type heldAnswer struct {
	deduction stock.Deduction
	err       error
	until     time.Time
}

// writeHeld begins a write that another transaction holds up for a while.
func writeHeld(t *testing.T, sharing postgres.Sharing, hold, name string, window func(*postgres.Store) stock.SaleWindow) heldAnswer {
	t.Helper()
	store, conn := fresh(t, 9)
	store.SetSharing(sharing)
	if _, err := conn.Exec(t.Context(), "BEGIN; "+hold); err != nil {
		t.Fatal(err)
	}
	sells, answered := window(store), make(chan heldAnswer, 1)
	go func() {
		d, err := heldWrites[name](t.Context(), store, sells)
		answered <- heldAnswer{deduction: d, err: err}
	}()
	blocking(t, conn, answered)
	time.Sleep(heldFor) // the test needs this time to pass
	var until time.Time
	if err := conn.QueryRow(t.Context(), "SELECT clock_timestamp()").Scan(&until); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Exec(t.Context(), "ROLLBACK"); err != nil {
		t.Fatal(err)
	}
	got := <-answered
	there, err := store.Deductions(t.Context(), "a", []string{"o"})
	if d := there["o"]; got.err == nil && (err != nil || !d.ExpiresAt.Equal(got.deduction.ExpiresAt) || d.ReserveFor != heldReserve) {
		t.Errorf("the row says %+v, the answer %+v, %v", d, got.deduction, err)
	}
	got.until = until
	return got
}

// TestAReservationBeginsWhenWaitingIsOver: another transaction holds the order id or the buyer's row for a while. A
// reservation that is made then lasts as long as requested, from then on.
func TestAReservationBeginsWhenWaitingIsOver(t *testing.T) {
	t.Parallel()
	eachHeldWrite(t, func(t *testing.T, sharing postgres.Sharing, hold, name string) {
		got := writeHeld(t, sharing, hold, name, func(*postgres.Store) stock.SaleWindow { return stock.SaleWindow{} })
		if got.err != nil {
			t.Fatal(got.err)
		}
		least := got.until.Add(heldReserve - postgres.WaitedLong)
		if ends := got.deduction.ExpiresAt; ends.Before(least) {
			t.Errorf("reserved until %v, want %v at least", ends, least)
		}
	})
}

// TestNothingIsSoldAfterTheSaleBecauseItWaited: the sale ends during the wait.
func TestNothingIsSoldAfterTheSaleBecauseItWaited(t *testing.T) {
	t.Parallel()
	eachHeldWrite(t, func(t *testing.T, sharing postgres.Sharing, hold, name string) {
		got := writeHeld(t, sharing, hold, name, func(s *postgres.Store) stock.SaleWindow {
			return stock.SaleWindow{EndsAt: s.Now().Add(heldFor)}
		})
		if stock.CodeOf(got.err) != stock.CodeSaleClosed {
			t.Errorf("got %v", got.err)
		}
	})
}
