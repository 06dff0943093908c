package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"inventory/internal/busytest"
	"inventory/internal/stock"
)

// settled is the result of a settlement.
type settled struct {
	results []stock.Settled
	err     error
}

// settle begins to settle.
func (s *sharers) settle(ctx context.Context, settlement stock.Settlement) chan settled {
	got := make(chan settled, 1)
	go func() {
		results, err := s.store.Settle(ctx, settlement)
		got <- settled{results, err}
	}()
	return got
}

// settleNext begins to settle, and returns when the settlement waits as well. The test runs in virtual time.
func (s *sharers) settleNext(settlement stock.Settlement) chan settled {
	s.t.Helper()
	_, before := s.store.Waiting()
	got := s.settle(s.t.Context(), settlement)
	synctest.Wait()
	if _, waiting := s.store.Waiting(); waiting != before+1 {
		s.t.Fatalf("%d settlements wait, want %d", waiting, before+1)
	}
	return got
}

// reserve reserves two units of segment 0 of SKUs, under the order id "o".
func (s *sharers) reserve(skus ...string) {
	s.t.Helper()
	for _, sku := range skus {
		batch := one(sku, "o")
		batch.Orders[0].Quantity, batch.Orders[0].ReserveFor = 2, time.Minute
		s.wants(sku, <-s.deduct(s.t.Context(), batch), stock.Accepted)
	}
}

func commit(sku string, units int64) stock.Settlement {
	return stock.Settlement{SKU: sku, Requests: []stock.SettleRequest{{OrderID: "o", Quantity: units}}}
}

func cancel(sku string) stock.Settlement {
	return stock.Settlement{SKU: sku, Requests: []stock.SettleRequest{{OrderID: "o", Verb: stock.Cancel}}}
}

func giveBack(sku string) stock.Settlement {
	return stock.Settlement{SKU: sku, Requests: []stock.SettleRequest{{OrderID: "o", Verb: stock.Return}}}
}

// is checks the status of a deduction in the answer and in the rows.
func (s *sharers) is(what, sku string, a settled, want stock.DeductionStatus, units int64) {
	s.t.Helper()
	if a.err != nil || len(a.results) != 1 || a.results[0].Err != nil || a.results[0].Deduction.Status != want {
		s.t.Errorf("%s: told %+v", what, a)
	}
	d, err := s.store.Deduction(s.t.Context(), sku, "o")
	if err != nil || d.Status != want || d.Quantity != units {
		s.t.Errorf("%s: kept %+v, %v", what, d, err)
	}
}

// TestSettlementsShareATransaction: commits, also of a part, and cancels; each is decided separately.
func TestSettlementsShareATransaction(t *testing.T) {
	t.Parallel()
	busytest.Virtual(t, func(t *testing.T) {
		s := openSharers(t, 7)
		s.reserve("a", "b", "c", "d", "e")
		s.statements.begun.Store(0)
		letGo := s.store.HoldSettlements()
		a := s.settleNext(commit("a", 0))
		b := s.settleNext(commit("b", 1))
		c := s.settleNext(cancel("c"))
		unknown := s.settleNext(commit("f", 0)) // no order
		none := s.settleNext(commit("none", 0)) // no SKU
		tooMuch := s.settleNext(commit("d", 3))
		again := s.settleNext(giveBack("a")) // waits for the next
		letGo()
		for n, got := range []chan settled{unknown, tooMuch} {
			if a := <-got; a.err != nil || stock.CodeOf(a.results[0].Err) != []stock.Code{stock.CodeUnknownDeduction, stock.CodeInvalidRequest}[n] {
				t.Errorf("%d: %+v", n, a)
			}
		}
		if a := <-none; stock.CodeOf(a.err) != stock.CodeUnknownSKU {
			t.Errorf("%+v", a)
		}
		if a := <-a; a.err != nil || a.results[0].Deduction.Status != stock.StatusCommitted {
			t.Errorf("%+v", a)
		}
		s.is("a part", "b", <-b, stock.StatusCommitted, 1)
		s.is("cancel", "c", <-c, stock.StatusCancelled, 2)
		s.is("return", "a", <-again, stock.StatusReturned, 2)
		if n := s.statements.begun.Load(); n != 4 { // one for all, one for each without rows, and the next
			t.Errorf("%d transactions", n)
		}
		s.holds(map[string]int64{"a": 20, "b": 19, "c": 20, "d": 18, "e": 18})
	})
}

// TestASettlementThatMeetsAHeldRowIsSetAside: the other settlements do not wait for it.
func TestASettlementThatMeetsAHeldRowIsSetAside(t *testing.T) {
	t.Parallel()
	for name, hold := range map[string]string{
		"the deduction": `SELECT FROM deductions WHERE sku_id = 'b' FOR UPDATE`,
		"the segment":   `SELECT FROM stock_segments WHERE sku_id = 'b' FOR UPDATE`,
		"the SKU":       `SELECT FROM skus WHERE sku_id = 'b' FOR UPDATE`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			busytest.Virtual(t, func(t *testing.T) {
				s := openSharers(t, 3)
				s.reserve("a", "b", "c")
				s.exec("BEGIN; " + hold)
				letGo := s.store.HoldSettlements()
				a, b := s.settleNext(commit("a", 1)), s.settleNext(commit("b", 1))
				c := s.settleNext(cancel("c"))
				letGo()
				s.is("another commit", "a", <-a, stock.StatusCommitted, 1)
				s.is("a cancel", "c", <-c, stock.StatusCancelled, 2)
				stays(s, "it", b)
				s.exec(`ROLLBACK`)
				s.is("afterwards", "b", <-b, stock.StatusCommitted, 1)
				s.holds(map[string]int64{"a": 19, "b": 19, "c": 20})
			})
		})
	}
}

// TestASettlementThatWaitsForAResegment finds that the segment to which it would give units back is gone.
func TestASettlementThatWaitsForAResegment(t *testing.T) {
	t.Parallel()
	busytest.Virtual(t, func(t *testing.T) {
		s := openSharers(t, 1)
		batch := one("a", "o")
		batch.Segment, batch.Orders[0].Quantity, batch.Orders[0].ReserveFor = 1, 2, time.Minute
		s.wants("a", <-s.deduct(t.Context(), batch), stock.Accepted)
		s.exec(`BEGIN; SELECT FROM stock_segments WHERE segment = 1 FOR UPDATE`)
		moved := make(chan error, 1)
		go func() {
			_, err := s.store.Move(t.Context(), stock.Movement{SKU: "a", Ref: "one", Kind: stock.Resegmented, Segments: 1})
			moved <- err
		}()
		s.locksWait(1)
		got := s.settle(t.Context(), cancel("a"))
		s.locksWait(2)
		s.exec(`ROLLBACK`)
		if err := <-moved; err != nil {
			t.Error(err)
		}
		s.is("cancelled", "a", <-got, stock.StatusCancelled, 2)
		s.holds(map[string]int64{"a": 20})
	})
}

// locksWait returns when that many statements wait for rows.
func (s *sharers) locksWait(statements int) {
	s.t.Helper()
	until(s.t, s.connect(), fmt.Sprintf(`SELECT count(*) = %d FROM pg_stat_activity
		WHERE datname = current_database() AND wait_event_type = 'Lock'`, statements))
}

// TestALateSettlementWritesNothing: the other settlements are written.
func TestALateSettlementWritesNothing(t *testing.T) {
	t.Parallel()
	busytest.Virtual(t, func(t *testing.T) {
		s := openSharers(t, 2)
		s.reserve("a", "b")
		s.beLate(`BEFORE UPDATE ON deductions FOR EACH ROW WHEN (NEW.sku_id = 'a')`)
		late := commit("b", 0)
		late.Deadline = time.Now().Add(soonOver)
		letGo := s.store.HoldSettlements()
		a, b := s.settleNext(commit("a", 0)), s.settleNext(late)
		letGo()
		if got := <-b; !errors.Is(got.err, stock.ErrLate) {
			t.Errorf("late: %+v", got)
		}
		s.is("the other", "a", <-a, stock.StatusCommitted, 2)
		if d, err := s.store.Deduction(t.Context(), "b", "o"); err != nil || d.Status != stock.StatusReserved {
			t.Errorf("late: %+v, %v", d, err)
		}
		s.holds(map[string]int64{"a": 18, "b": 18})
	})
}

// TestManySettlements: the size of one write is bounded.
func TestManySettlements(t *testing.T) {
	t.Parallel()
	busytest.Virtual(t, func(t *testing.T) {
		s := openSharers(t, 26)
		var waits []chan settled
		letGo := s.store.HoldSettlements()
		for n := range 26 {
			settlement := stock.Settlement{SKU: name(n)}
			for id := range 16 {
				settlement.Requests = append(settlement.Requests, stock.SettleRequest{OrderID: fmt.Sprint(id)})
			}
			waits = append(waits, s.settleNext(settlement))
		}
		letGo()
		for n, got := range waits {
			if a := <-got; a.err != nil || len(a.results) != 16 || stock.CodeOf(a.results[0].Err) != stock.CodeUnknownDeduction {
				t.Errorf("%s: %+v", name(n), a)
			}
		}
	})
}
