package selling_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"inventory/internal/busytest"
	"inventory/internal/stock"
	"inventory/internal/stock/selling"
)

// holdRows locks the rows of some segments of the SKU beside the service, as a stuck session does, until it is released.
func (w *world) holdRows(segments ...int) (release func()) {
	w.t.Helper()
	conn, err := pgx.Connect(w.t.Context(), w.url)
	if err != nil {
		w.t.Fatal(err)
	}
	if _, err := conn.Exec(w.t.Context(), "BEGIN"); err != nil {
		w.t.Fatal(err)
	}
	held, err := conn.Exec(w.t.Context(), "SELECT 1 FROM stock_segments WHERE sku_id = $1 AND segment = ANY ($2) FOR UPDATE", sku, segments)
	if err != nil || held.RowsAffected() != int64(len(segments)) {
		w.t.Fatalf("holding segments: %v, %v", held, err)
	}
	release = sync.OnceFunc(func() {
		if err := conn.Close(context.WithoutCancel(w.t.Context())); err != nil {
			w.t.Error(err)
		}
	})
	w.t.Cleanup(release)
	return release
}

// eachHeld holds one segment after the other. Meanwhile callers buy, each some orders, all of which must be accepted.
func (w *world) eachHeld(segments, callers, orders int, buy func(id, buyer string) error) {
	w.t.Helper()
	for held := range segments {
		release := w.holdRows(held)
		var buyers sync.WaitGroup
		for caller := range callers {
			buyers.Go(func() {
				for n := range orders {
					if err := buy(fmt.Sprint(held, " ", caller, " ", n), fmt.Sprint("buyer ", caller)); err != nil {
						w.t.Errorf("while segment %d is held: %v", held, err)
					}
				}
			})
		}
		buyers.Wait()
		release()
	}
}

// TestAHeldSegmentStopsOnlyItself: while somebody holds the rows of segments, all orders are sold from the others. Each row is held in
// its turn, so one of them is where the service sold last.
func TestAHeldSegmentStopsOnlyItself(t *testing.T) {
	busytest.Slow(t)
	t.Parallel()
	const segments, callers, orders = 10, 64, 3
	for _, limit := range []int64{0, 1000} {
		t.Run(fmt.Sprint("limit ", limit), func(t *testing.T) {
			t.Parallel()
			w := real(t)
			s := w.start(nil)
			w.createOn(s, 100_000, segments, stock.Terms{PerBuyerLimit: limit})
			w.eachHeld(segments, callers, orders, func(id, buyer string) error {
				_, _, err := s.Deduct(t.Context(), sku, stock.Order{OrderID: id, BuyerID: buyer, Quantity: 1})
				return err
			})
			if got := w.audit().Committed; got != segments*callers*orders {
				t.Errorf("%d units are sold, want %d", got, segments*callers*orders)
			}
		})
	}
}

// TestABasketTakesFromOtherSegments: while somebody holds the row of a segment, orders of several SKUs are sold from the others.
func TestABasketTakesFromOtherSegments(t *testing.T) {
	busytest.Slow(t)
	t.Parallel()
	const segments, callers, orders = 3, 8, 3
	w := real(t)
	s := w.start(nil)
	w.create(s, 900, segments)
	if _, _, err := s.CreateSKU(t.Context(), stock.NewSKU{SKU: "other", Stock: 900, Segments: segments}); err != nil {
		t.Fatal(err)
	}
	asks := func(id string, quantity int64) error {
		_, _, err := s.Order(t.Context(), stock.MultiOrder{OrderID: id, Lines: []stock.Line{{SKU: sku, Quantity: quantity}, {SKU: "other", Quantity: 1}}})
		return err
	}
	w.eachHeld(segments, callers, orders, func(id, _ string) error { return asks(id, 1) })
	left := 900 - int64(segments*callers*orders)
	release := w.holdRows(1)
	if err := asks("more than the free segments hold", left); stock.CodeOf(err) != stock.CodeUnavailable || !errors.Is(err, stock.ErrUnwritten) {
		t.Errorf("what needs the row that is held: %v, want %s", err, stock.CodeUnavailable)
	}
	if err := asks("more than all hold", left+1); stock.CodeOf(err) != stock.CodeInsufficientStock {
		t.Errorf("more than all rows hold: %v, want %s", err, stock.CodeInsufficientStock)
	}
	if err := asks("several segments", left/2); err != nil {
		t.Errorf("what two segments hold: %v", err)
	}
	release()
	w.auditAll()
}

// TestAMergeLeavesOutWhatIsHeld: it takes from the rows that are free, and refuses for good only what all rows together cannot fill.
func TestAMergeLeavesOutWhatIsHeld(t *testing.T) {
	t.Parallel()
	w := real(t)
	s := w.start(nil)
	w.create(s, 15, 3)
	release := w.holdRows(1)
	asks := func(id string, quantity int64) error {
		_, _, err := s.Deduct(t.Context(), sku, stock.Order{OrderID: id, Quantity: quantity})
		return err
	}
	if err := asks("two segments", 8); err != nil {
		t.Fatalf("what two segments fill: %v", err)
	}
	for quantity, want := range map[int64]stock.Code{
		4: stock.CodeUnavailable,       // the segment that is held and the others could fill it
		5: stock.CodeUnavailable,       // the segment that is held alone could
		8: stock.CodeInsufficientStock, // all of them cannot
	} {
		err := asks(fmt.Sprint("units ", quantity), quantity)
		if stock.CodeOf(err) != want || want == stock.CodeUnavailable && !errors.Is(err, stock.ErrUnwritten) {
			t.Errorf("%d units: %v, want %s", quantity, err, want)
		}
	}
	if err := asks("the others", 2); err != nil {
		t.Fatalf("what is left in the others: %v", err)
	}
	if err := asks("one more", 1); stock.CodeOf(err) != stock.CodeUnavailable {
		t.Errorf("of the segment that is held: %v, want %s", err, stock.CodeUnavailable)
	}
	release()
	if err := asks("one more", 5); err != nil {
		t.Errorf("when it is free: %v", err)
	}
	if err := asks("nothing", 1); stock.CodeOf(err) != stock.CodeSoldOut {
		t.Errorf("when nothing is left: %v, want %s", err, stock.CodeSoldOut)
	}
	if got := w.audit().Committed; got != 15 {
		t.Errorf("%d units are sold, want 15", got)
	}
}

// TestUnitsComeBackWhileASegmentIsHeld: a restock, a cancel, a part of a cancel and a return go to the rows that are free, also where
// buyers are counted. A commit needs no row of a segment.
func TestUnitsComeBackWhileASegmentIsHeld(t *testing.T) {
	busytest.Slow(t)
	t.Parallel()
	for _, limit := range []int64{0, 50} {
		t.Run(fmt.Sprint("limit ", limit), func(t *testing.T) {
			t.Parallel()
			w := real(t)
			s := w.start(nil)
			w.createOn(s, 90, 3, stock.Terms{PerBuyerLimit: limit})
			ids := []string{"cancelled", "in part", "committed", "returned"}
			for _, id := range ids {
				order := stock.Order{OrderID: id, BuyerID: "b", Quantity: 10, ReserveFor: stock.MaxReserve}
				if id == "returned" {
					order.ReserveFor = 0
				}
				w.mustTake(s, order)
			}
			for held := range 3 {
				release := w.holdRows(held)
				w.restock(s, fmt.Sprint("restock ", held), 3)
				settle := func(request stock.SettleRequest) {
					t.Helper()
					if _, err := s.Settle(t.Context(), sku, request, false); err != nil {
						t.Errorf("while segment %d is held, %s of %s: %v", held, request.Verb, request.OrderID, err)
					}
				}
				switch held {
				case 0:
					settle(stock.SettleRequest{OrderID: "cancelled", Verb: stock.Cancel})
				case 1:
					settle(stock.SettleRequest{OrderID: "in part", Verb: stock.Cancel, Quantity: 4, Ref: "part"})
					settle(stock.SettleRequest{OrderID: "committed", Verb: stock.Commit})
				default:
					settle(stock.SettleRequest{OrderID: "returned", Verb: stock.Return})
				}
				release()
			}
			if b := w.audit(); b.Available != 90-40+9+10+4+10 || b.Reserved != 6 || b.Committed != 10 {
				t.Errorf("balance %+v", b)
			}
			if _, _, err := s.Deduct(t.Context(), sku, stock.Order{OrderID: "all", BuyerID: "other", Quantity: min(50, 83)}); err != nil {
				t.Errorf("what came back: %v", err)
			}
		})
	}
}

// TestAResegmentSaysThatARowIsHeld: it needs all rows, and waits for them as long as its caller does.
func TestAResegmentSaysThatARowIsHeld(t *testing.T) {
	busytest.Slow(t)
	t.Parallel()
	w := real(t)
	w.create(w.start(nil), 90, 3)
	s := w.serve(selling.Config{Store: w.store, AnswerWithin: time.Second})
	move := func() error {
		_, err := s.Move(t.Context(), stock.Movement{Kind: stock.Resegmented, SKU: sku, Ref: "five", Segments: 5})
		return err
	}
	release := w.holdRows(1)
	busytest.Soon(t, "the refusal says that a row is held", func() bool { // on a slow machine the time may be over before
		err := move()
		if err == nil {
			t.Fatal("it was done without a row")
		}
		return errors.Is(err, stock.ErrHeld)
	})
	release()
	busytest.Soon(t, "it is done when the row is free", func() bool { return move() == nil })
	if segments := w.audit(); segments.Available != 90 {
		t.Errorf("balance %+v", segments)
	}
}

// TestASweepPassesAHeldSKU: somebody holds the rows of a SKU of which more reservations have expired than one look finds. Those of other SKUs are
// swept.
func TestASweepPassesAHeldSKU(t *testing.T) {
	busytest.Slow(t)
	t.Parallel()
	w := real(t)
	s := w.start(nil)
	w.create(s, 5000, 1)
	if _, _, err := s.CreateSKU(t.Context(), stock.NewSKU{SKU: "other", Stock: 5, Segments: 1}); err != nil {
		t.Fatal(err)
	}
	release := w.holdRows(0)
	conn, err := pgx.Connect(t.Context(), w.url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.WithoutCancel(t.Context()))
	for _, statement := range []string{
		`INSERT INTO deductions (sku_id, order_id, quantity, segment, status, expires_at, created_at)
		 SELECT '` + sku + `', 'o-' || i, 1, 0, 'reserved', now() - interval '1 minute', now() - interval '2 minutes' FROM generate_series(1, 2100) AS i`,
		`INSERT INTO deductions (sku_id, order_id, quantity, segment, status, expires_at, created_at)
		 VALUES ('other', 'o', 1, 0, 'reserved', now() - interval '30 seconds', now() - interval '2 minutes')`,
		`UPDATE stock_segments SET available = available - 1, reserved = reserved + 1 WHERE sku_id = 'other'`,
	} {
		if _, err := conn.Exec(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	busytest.Soon(t, "the reservation of the other SKU is swept", func() bool {
		d, err := w.store.Deduction(t.Context(), "other", "o")
		if err != nil {
			t.Fatal(err)
		}
		return d.Status == stock.StatusExpired
	})
	release()
	if _, err := conn.Exec(t.Context(), `DELETE FROM deductions WHERE sku_id = $1`, sku); err != nil {
		t.Fatal(err)
	}
}
