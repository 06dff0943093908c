package postgres_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"inventory/internal/busytest"
	"inventory/internal/stock"
	"inventory/internal/stock/postgres"
	"inventory/internal/stock/tables"
)

// A lock of tables, which somebody else may take exclusively, and tables that have gone.
const locksOfTables = `
CREATE TABLE gone (place bigint);
CREATE FUNCTION held(place bigint) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_advisory_xact_lock_shared(held.place);
    IF EXISTS (SELECT FROM gone WHERE gone.place = held.place) THEN
        RAISE EXCEPTION 'gone' USING ERRCODE = 'IN001';
    END IF;
    RETURN true;
END $$`

// places are stores on other tables of one database, each with two SKUs: "a" and "b" in the first, "c" and "d" in the second.
type places struct {
	*sharers // of the connections
	stores   []*postgres.Store
}

func openPlaces(t *testing.T, n int) *places {
	t.Helper()
	s := &places{sharers: openSharers(t, 0)}
	s.exec(locksOfTables)
	for i := range n {
		var names []string
		for _, table := range []string{"skus", "stock_segments", "deductions", "deduction_parts", "amendments", "movements", "buyers", "pruned", "orders", "order_lines"} {
			s.exec(fmt.Sprintf("CREATE TABLE %s_%d (LIKE %s INCLUDING ALL)", table, i, table))
			for _, before := range []string{"FROM ", "JOIN ", "INTO ", "UPDATE "} {
				names = append(names, before+table, fmt.Sprint(before, table, "_", i))
			}
		}
		rename := strings.NewReplacer(names...)
		store := s.store.With(postgres.Access{
			Lock: fmt.Sprintf("SELECT held(%d)", i),
			SQL:  func(name string) tables.SQL { return tables.SQL{Text: rename.Replace(statements.Of(name).Text)} },
		})
		s.stores = append(s.stores, store)
		for k := range 2 {
			if _, err := store.CreateSKU(t.Context(), stock.NewSKU{SKU: name(2*i + k), Stock: 20, Segments: 2}, time.Time{}); err != nil {
				t.Fatal(err)
			}
		}
	}
	return s
}

// of returns the store that has a SKU.
func (s *places) of(sku string) *postgres.Store { return s.stores[(sku[0]-'a')/2] }

// deduct begins to write a batch.
func (s *places) deduct(batch stock.Batch) chan answer {
	got := make(chan answer, 1)
	go func() {
		result, err := joining{s.of(batch.SKU)}.Deduct(s.t.Context(), batch)
		got <- answer{result: result, err: err}
	}()
	return got
}

// together lets batches wait until all do, and returns a channel for each answer.
func (s *places) together(batches ...stock.Batch) (answers []chan answer) {
	s.t.Helper()
	letGo := s.store.HoldWriter()
	for _, batch := range batches {
		answers = append(answers, s.deduct(batch))
	}
	s.waiting(len(batches))
	letGo()
	return answers
}

// transactions returns how many transactions have written the orders of an id.
func (s *places) transactions(orderID string) (n int) {
	s.t.Helper()
	var selects []string
	for i := range s.stores {
		selects = append(selects, fmt.Sprintf("SELECT xmin::text AS x FROM deductions_%d WHERE order_id = $1", i))
	}
	query := "SELECT count(DISTINCT x) FROM (" + strings.Join(selects, " UNION ALL ") + ") AS rows"
	if err := s.conn.QueryRow(s.t.Context(), query, orderID).Scan(&n); err != nil {
		s.t.Fatal(err)
	}
	return n
}

// left checks the units left of the SKUs, and audits their places.
func (s *places) left(want map[string]int64) {
	s.t.Helper()
	for sku, units := range want {
		if status, err := s.of(sku).Status(s.t.Context(), sku, time.Time{}); err != nil || status.Available != units {
			s.t.Errorf("SKU %s has %d left, %v, want %d", sku, status.Available, err, units)
		}
	}
	for _, store := range s.stores {
		if audit, err := store.Audit(s.t.Context(), "", nil); err != nil || !audit.OK() {
			s.t.Errorf("audit: got %+v, %v, want no difference and no violation", audit, err)
		}
	}
}

// TestStoresOnOtherTablesShareAWrite: batches of SKUs in several places that wait at the same time are one transaction, in
// which each is decided separately.
func TestStoresOnOtherTablesShareAWrite(t *testing.T) {
	t.Parallel()
	busytest.Virtual(t, func(t *testing.T) {
		s := openPlaces(t, 3)
		short := one("f", "o")
		short.Orders[0].Quantity = 11
		got := s.together(one("a", "o"), one("c", "o"), one("b", "o"), one("d", "o"), one("e", "o", "p"), short)
		for n, kinds := range [][]stock.OutcomeKind{{stock.Accepted}, {stock.Accepted}, {stock.Accepted}, {stock.Accepted}, {stock.Accepted, stock.Accepted}, {stock.Short}} {
			s.wants(fmt.Sprint(n), <-got[n], kinds...)
		}
		if n := s.transactions("o"); n != 1 {
			t.Errorf("%d transactions, want 1", n)
		}
		s.left(map[string]int64{"a": 19, "b": 19, "c": 19, "d": 19, "e": 18, "f": 20})
		// An order in one place is known.
		got = s.together(one("a", "o"), one("c", "q"), one("e", "q"))
		for n, kind := range []stock.OutcomeKind{stock.Known, stock.Accepted, stock.Accepted} {
			s.wants("known", <-got[n], kind)
		}
		if n := s.transactions("q"); n != 1 {
			t.Errorf("%d transactions beside a known order, want 1", n)
		}
		s.left(map[string]int64{"a": 19, "c": 18, "e": 17})
	})
}

// TestStoresOnOtherTablesShareLimits: batches that count their buyers share too.
func TestStoresOnOtherTablesShareLimits(t *testing.T) {
	t.Parallel()
	busytest.Virtual(t, func(t *testing.T) {
		s := openPlaces(t, 2)
		var batches []stock.Batch
		for n, sku := range []string{"a", "c"} {
			limited := stock.NewSKU{SKU: sku + "limited", Stock: 20, Segments: 2, Terms: stock.Terms{PerBuyerLimit: 1}}
			if _, err := s.stores[n].CreateSKU(t.Context(), limited, time.Time{}); err != nil {
				t.Fatal(err)
			}
			batch := one(limited.SKU, "o", "p")
			batch.Limit, batch.Orders[0].BuyerID, batch.Orders[1].BuyerID = 1, "x", "y"
			batches = append(batches, batch)
		}
		for _, got := range s.together(batches...) {
			s.wants("limited", <-got, stock.Accepted, stock.Accepted)
		}
		if n := s.transactions("o"); n != 1 {
			t.Errorf("%d transactions, want 1", n)
		}
		s.left(map[string]int64{"alimited": 18, "climited": 18})
	})
}

// TestTablesThatHaveGoneStopNoOthers: its batches get that error, and the others are written.
func TestTablesThatHaveGoneStopNoOthers(t *testing.T) {
	t.Parallel()
	busytest.Virtual(t, func(t *testing.T) {
		s := openPlaces(t, 2)
		s.exec(`INSERT INTO gone VALUES (1)`)
		got := s.together(one("a", "o"), one("c", "o"), one("b", "o"), one("d", "o"))
		for n := range got {
			a := <-got[n]
			if n%2 == 0 {
				s.wants("beside it", a, stock.Accepted)
			} else if postgres.StateOf(a.err) != "IN001" {
				t.Errorf("%d: %+v", n, a)
			}
		}
		s.exec(`DELETE FROM gone`)
		s.left(map[string]int64{"a": 19, "b": 19, "c": 20, "d": 20})
	})
}

// TestLockedTablesHoldUpNoOthers: batches for it wait until the move ends, or fail. The others do not wait.
func TestLockedTablesHoldUpNoOthers(t *testing.T) {
	t.Parallel()
	busytest.Virtual(t, func(t *testing.T) {
		s := openPlaces(t, 2)
		for n, sku := range []string{"a", "c"} {
			batch := one(sku, "kept")
			batch.Orders[0].ReserveFor = time.Minute
			if _, err := s.stores[n].Deduct(t.Context(), batch); err != nil {
				t.Fatal(err)
			}
		}
		for what, do := range map[string]struct {
			hold func() (letGo func())
			ask  func(sku string) error
		}{
			"batches": {s.store.HoldWriter, func(sku string) error {
				_, err := joining{s.of(sku)}.Deduct(t.Context(), one(sku, "o"))
				return err
			}},
			"settlements": {s.store.HoldSettlements, func(sku string) error {
				_, err := s.of(sku).Settle(t.Context(), stock.Settlement{SKU: sku, Requests: []stock.SettleRequest{{OrderID: "kept"}}})
				return err
			}},
		} {
			s.exec(`SELECT pg_advisory_lock(1)`)
			beside, moved := make(chan error, 1), make(chan error, 1)
			letGo := do.hold()
			go func() { beside <- do.ask("a") }()
			go func() { moved <- do.ask("c") }()
			synctest.Wait() // both wait
			letGo()
			if err := <-beside; err != nil {
				t.Errorf("%s: beside it: %v", what, err)
			}
			blocking(t, s.conn, moved)
			select {
			case err := <-moved:
				if err == nil {
					t.Errorf("%s of the place did not wait", what)
				}
				moved <- err
			default:
			}
			s.exec(`SELECT pg_advisory_unlock(1)`)
			if <-moved != nil { // this took too long
				if err := do.ask("c"); err != nil {
					t.Errorf("%s afterwards: %v", what, err)
				}
			}
		}
		for _, sku := range []string{"a", "c"} {
			if d, err := s.of(sku).Deduction(t.Context(), sku, "kept"); err != nil || d.Status != stock.StatusCommitted {
				t.Errorf("%+v, %v", d, err)
			}
		}
		s.left(map[string]int64{"a": 18, "b": 20, "c": 18, "d": 20})
	})
}

// TestStoresOnOtherTablesShareSettlements: settlements of SKUs in several places are one transaction.
func TestStoresOnOtherTablesShareSettlements(t *testing.T) {
	t.Parallel()
	busytest.Virtual(t, func(t *testing.T) {
		s := openPlaces(t, 2)
		for _, sku := range []string{"a", "b", "c"} {
			batch := one(sku, "o")
			batch.Orders[0].Quantity, batch.Orders[0].ReserveFor = 2, time.Minute
			s.wants(sku, <-s.deduct(batch), stock.Accepted)
		}
		letGo := s.store.HoldSettlements()
		answers := make(map[string]chan settled)
		for _, settlement := range []stock.Settlement{commit("a", 0), cancel("b"), commit("c", 1), commit("d", 0)} {
			answers[settlement.SKU] = make(chan settled, 1)
			go func() {
				results, err := s.of(settlement.SKU).Settle(t.Context(), settlement)
				answers[settlement.SKU] <- settled{results, err}
			}()
		}
		synctest.Wait() // all wait
		letGo()
		for sku, want := range map[string]stock.DeductionStatus{"a": stock.StatusCommitted, "b": stock.StatusCancelled, "c": stock.StatusCommitted} {
			if a := <-answers[sku]; a.err != nil || len(a.results) != 1 || a.results[0].Err != nil || a.results[0].Deduction.Status != want {
				t.Errorf("%s: %+v", sku, a)
			}
			if d, err := s.of(sku).Deduction(t.Context(), sku, "o"); err != nil || d.Status != want {
				t.Errorf("%s is kept as %+v, %v", sku, d, err)
			}
		}
		if a := <-answers["d"]; a.err != nil || stock.CodeOf(a.results[0].Err) != stock.CodeUnknownDeduction {
			t.Errorf("d: %+v", a)
		}
		if n := s.transactions("o"); n != 1 {
			t.Errorf("%d transactions, want 1", n)
		}
		s.left(map[string]int64{"a": 18, "b": 20, "c": 19, "d": 20})
	})
}
