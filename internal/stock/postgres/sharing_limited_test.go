package postgres_test

import (
	"fmt"
	"testing"
	"time"

	"inventory/internal/busytest"
	"inventory/internal/stock"
)

// limited is a batch for segment 0 of a SKU with a limit of 2, with an order of one unit for each of these buyers.
func limited(sku string, buyers ...string) stock.Batch {
	batch := stock.Batch{SKU: sku, Layout: 1, Limit: 2}
	for _, buyer := range buyers {
		batch.Orders = append(batch.Orders, stock.Order{OrderID: "of " + buyer, BuyerID: buyer, Quantity: 1})
	}
	return batch
}

// openLimited opens sharers of SKUs with a limit of 2.
func openLimited(t *testing.T, skus int) *sharers {
	t.Helper()
	s := openSharers(t, skus)
	s.exec(`UPDATE skus SET per_buyer_limit = 2`)
	return s
}

// bought checks how many units of a SKU each buyer's count has.
func (s *sharers) bought(sku string, want map[string]int64) {
	s.t.Helper()
	rows, err := s.conn.Query(s.t.Context(), `SELECT buyer_id, units FROM buyers WHERE sku_id = $1`, sku)
	if err != nil {
		s.t.Fatal(err)
	}
	got := map[string]int64{}
	var buyer string
	var units int64
	for rows.Next() {
		if err := rows.Scan(&buyer, &units); err != nil {
			s.t.Fatal(err)
		}
		got[buyer] = units
	}
	if rows.Err() != nil || fmt.Sprint(got) != fmt.Sprint(want) {
		s.t.Errorf("%s: buyers %v, %v, want %v", sku, got, rows.Err(), want)
	}
}

// TestBatchesWithALimitShareAStatement and count their buyers, also buyers that have bought before.
func TestBatchesWithALimitShareAStatement(t *testing.T) {
	t.Parallel()
	busytest.Virtual(t, func(t *testing.T) {
		s := openLimited(t, 3)
		s.wants("before", <-s.deduct(t.Context(), limited("a", "x")), stock.Accepted)
		s.wrote(0, 0, 1)
		again := limited("a", "x", "y")
		again.Orders[0].OrderID, again.Orders[1].ReserveFor = "another of x", time.Minute
		again.Fence = stock.Fence{Token: 7, Owner: "me"}
		got := s.together(again, limited("b", "x"), limited("c", "z", "y", "x"))
		for n, a := range []int{2, 1, 3} {
			answer := <-got[n]
			if len(answer.result.Outcomes) != a || answer.result.At.IsZero() {
				t.Errorf("%s: %+v", name(n), answer)
			}
			for _, kind := range answer.kinds() {
				if kind != stock.Accepted {
					t.Errorf("%s: %v, want %v", name(n), answer.kinds(), stock.Accepted)
				}
			}
		}
		s.wrote(0, 1, 0)
		s.bought("a", map[string]int64{"x": 2, "y": 1})
		s.bought("b", map[string]int64{"x": 1})
		s.bought("c", map[string]int64{"x": 1, "y": 1, "z": 1})
		s.holds(map[string]int64{"a": 17, "b": 19, "c": 17})
	})
}

// TestEachBatchWithALimitStandsForItself: whatever is wrong with one batch, the shared statement writes the others.
func TestEachBatchWithALimitStandsForItself(t *testing.T) {
	t.Parallel()
	busytest.Virtual(t, func(t *testing.T) {
		s := openLimited(t, 8)
		before := limited("b", "x")
		before.Orders[0].Quantity = 2
		for _, batch := range []stock.Batch{limited("a", "x"), before} {
			s.wants("before", <-s.deduct(t.Context(), batch), stock.Accepted)
		}
		s.wrote(0, 0, 2)
		over, large, closed, layout := limited("b", "y", "x"), limited("c", "x"), limited("d", "x"), limited("e", "x")
		over.Orders[1].OrderID = "one more of x"
		large.Orders[0].Quantity = 3 // more than a buyer may have
		closed.SaleWindow.StartsAt = s.store.Now().Add(time.Hour)
		layout.Layout = 2
		short := limited("f", "x", "y", "z", "w", "v", "u")
		for n := range short.Orders {
			short.Orders[n].Quantity = 2
		}
		got := s.together(limited("a", "x"), over, large, closed, layout, short, limited("g", "x"), limited("h", "x", "y"))
		s.wants("known", <-got[0], stock.Known)
		s.wants("over the limit", <-got[1], stock.Accepted, stock.Limited)
		s.wants("larger than the limit", <-got[2], stock.Limited)
		s.wants("before the sale", <-got[3], stock.Closed)
		if a := <-got[4]; stock.CodeOf(a.err) != stock.CodeUnavailable {
			t.Errorf("another layout: %+v, want %s", a, stock.CodeUnavailable)
		}
		s.wants("short", <-got[5], stock.Accepted, stock.Accepted, stock.Accepted, stock.Accepted, stock.Accepted, stock.Short)
		s.wants("g", <-got[6], stock.Accepted)
		s.wants("h", <-got[7], stock.Accepted, stock.Accepted)
		var transactions int
		err := s.conn.QueryRow(t.Context(), `SELECT count(DISTINCT xmin::text) FROM deductions WHERE sku_id IN ('g', 'h')`).Scan(&transactions)
		if n := s.statements.shared.Load(); n != 1 || transactions != 1 || err != nil {
			t.Errorf("%d shared statements; those that are right are written by %d transactions, %v", n, transactions, err)
		}
		s.bought("b", map[string]int64{"x": 2, "y": 1})
		s.bought("g", map[string]int64{"x": 1})
		s.holds(map[string]int64{"a": 19, "b": 17, "c": 20, "d": 20, "e": 20, "f": 10, "g": 19, "h": 18})
	})
}

// TestABuyerThatSomebodyHoldsKeepsOnlyItsOwnBatch: a session has counted a buyer, and does not commit.
func TestABuyerThatSomebodyHoldsKeepsOnlyItsOwnBatch(t *testing.T) {
	t.Parallel()
	busytest.Virtual(t, func(t *testing.T) {
		for end, want := range map[string]stock.OutcomeKind{"COMMIT": stock.Limited, "ROLLBACK": stock.Accepted} {
			s := openLimited(t, 3)
			s.exec(`BEGIN; INSERT INTO buyers (sku_id, buyer_id, units, most) VALUES ('b', 'x', 2, 2)`)
			got := s.together(limited("a", "x"), limited("b", "x"), limited("c", "x"))
			s.wants("a", <-got[0], stock.Accepted)
			s.wants("c", <-got[2], stock.Accepted)
			stays(s, "b", got[1])
			s.exec(end)
			s.wants("b after "+end, <-got[1], want)
			s.bought("a", map[string]int64{"x": 1})
			s.bought("c", map[string]int64{"x": 1})
		}
	})
}

// TestChangesDuringASharedWrite: a buyer's last units are sold, or an order id is inserted, after the statement has
// read that they were free. The statement reaches the second batch late, because inserting the first one's buyer takes
// long.
func TestChangesDuringASharedWrite(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]struct {
		statement string
		want      stock.OutcomeKind
		buyers    map[string]int64
	}{
		"buyer": {
			`INSERT INTO buyers (sku_id, buyer_id, units, most) VALUES ('b', 'x', 2, 2)`, stock.Limited, map[string]int64{"x": 2},
		},
		"order id": {`INSERT INTO deductions (sku_id, order_id, buyer_id, quantity, segment, status, created_at)
			VALUES ('b', 'of x', 'x', 1, 0, 'committed', now())`, stock.Known, map[string]int64{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			busytest.Virtual(t, func(t *testing.T) {
				s := openLimited(t, 2)
				s.stall(`BEFORE INSERT ON buyers FOR EACH ROW WHEN (NEW.sku_id = 'a')`)
				got := s.together(limited("a", "x"), limited("b", "x"))
				s.stalled()
				s.exec(change.statement)
				s.goOn()
				s.wants("a", <-got[0], stock.Accepted)
				s.wants("b", <-got[1], change.want)
				if n := s.statements.shared.Load(); n != 1 {
					t.Errorf("%d shared statements, want 1", n)
				}
				s.bought("a", map[string]int64{"x": 1})
				s.bought("b", change.buyers)
			})
		})
	}
}
