package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"inventory/internal/stock"
	"inventory/internal/stock/postgres"
	"inventory/internal/stock/selling"
)

// counter counts the statements of batches.
type counter struct{ together, shared, alone, begun atomic.Int64 }

var statements = postgres.Statements()

// TraceQueryStart implements [pgx.QueryTracer].
func (c *counter) TraceQueryStart(ctx context.Context, _ *pgx.Conn, query pgx.TraceQueryStartData) context.Context {
	c.count(query.SQL)
	return ctx
}

// TraceBatchStart implements [pgx.BatchTracer].
func (c *counter) TraceBatchStart(ctx context.Context, _ *pgx.Conn, message pgx.TraceBatchStartData) context.Context {
	for _, query := range message.Batch.QueuedQueries {
		c.count(query.SQL)
	}
	return ctx
}

// TraceBatchQuery implements [pgx.BatchTracer].
func (c *counter) TraceBatchQuery(context.Context, *pgx.Conn, pgx.TraceBatchQueryData) {}

// TraceBatchEnd implements [pgx.BatchTracer].
func (c *counter) TraceBatchEnd(context.Context, *pgx.Conn, pgx.TraceBatchEndData) {}

func (c *counter) count(sql string) {
	if strings.HasPrefix(sql, "BEGIN ISOLATION LEVEL READ COMMITTED") {
		c.begun.Add(1)
	}
	switch sql {
	case statements.Of("take_together").Text:
		c.together.Add(1)
	case statements.Of("take_each").Text:
		c.shared.Add(1)
	case statements.Of("deduct").Text, statements.Of("deduct_limited").Text:
		c.alone.Add(1)
	}
}

// TraceQueryEnd implements [pgx.QueryTracer].
func (c *counter) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

// sharers are SKUs "a", "b", "c" and so on, of two segments with 10 units each, and a store that sells them.
type sharers struct {
	*testing.T
	store      *postgres.Store
	url        string
	conn       *pgx.Conn // next to the store
	statements *counter
}

func openSharers(t *testing.T, skus int) *sharers {
	t.Helper()
	url, drop, err := server.CreateDatabase(t.Context(), template)
	if err != nil {
		t.Fatal(err)
	}
	s := &sharers{T: t, url: url, statements: &counter{}}
	t.Cleanup(func() {
		if err := drop(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	s.store = s.open()
	s.conn = s.connect()
	for n := range skus {
		sku := stock.NewSKU{SKU: name(n), Stock: 20, Segments: 2}
		if _, err := s.store.CreateSKU(t.Context(), sku, time.Time{}); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

func name(sku int) string { return string(rune('a' + sku)) }

// open opens a store, like another process.
func (s *sharers) open() *postgres.Store {
	s.Helper()
	store, err := postgres.Open(s.Context(), s.url, 0, func(c *pgxpool.Config) { c.ConnConfig.Tracer = s.statements })
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() {
		if err := store.Close(); err != nil {
			s.Error(err)
		}
	})
	return store
}

func (s *sharers) connect() *pgx.Conn {
	s.Helper()
	conn, err := pgx.Connect(s.Context(), s.url)
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() {
		if err := conn.Close(context.WithoutCancel(s.Context())); err != nil {
			s.Error(err)
		}
	})
	return conn
}

// exec runs a statement outside the store.
func (s *sharers) exec(statement string) {
	s.Helper()
	if _, err := s.conn.Exec(s.Context(), statement); err != nil {
		s.Fatal(err)
	}
}

// one is a batch for segment 0 of a SKU, with orders of one unit with these ids.
func one(sku string, ids ...string) stock.Batch {
	batch := stock.Batch{SKU: sku, Layout: 1}
	for _, id := range ids {
		batch.Orders = append(batch.Orders, stock.Order{OrderID: id, Quantity: 1})
	}
	return batch
}

// answer is the result of a batch, and its time.
type answer struct {
	result stock.BatchResult
	err    error
	after  time.Duration
}

// kinds are the kinds of outcomes.
func (a answer) kinds() (kinds []stock.OutcomeKind) {
	for _, o := range a.result.Outcomes {
		kinds = append(kinds, o.Kind)
	}
	return kinds
}

// wants checks the outcomes.
func (s *sharers) wants(what string, a answer, kinds ...stock.OutcomeKind) {
	s.Helper()
	if a.err != nil || fmt.Sprint(a.kinds()) != fmt.Sprint(kinds) {
		s.Errorf("%s: outcomes %v, %v, want %v", what, a.kinds(), a.err, kinds)
	}
}

// together lets batches wait until all do, and returns a channel for each answer.
func (s *sharers) together(batches ...stock.Batch) []chan answer {
	s.Helper()
	letGo := s.store.HoldWriter()
	answers := make([]chan answer, len(batches))
	for n, batch := range batches {
		ctx, cancel := context.WithTimeout(s.Context(), time.Duration(n+1)*time.Minute)
		s.Cleanup(cancel)
		answers[n] = s.deduct(ctx, batch)
	}
	letGo(len(batches))
	return answers
}

// deduct begins to write a batch.
func (s *sharers) deduct(ctx context.Context, batch stock.Batch) chan answer {
	got := make(chan answer, 1)
	start := time.Now()
	go func() {
		result, err := s.store.Deduct(ctx, batch)
		got <- answer{result, err, time.Since(start)}
	}()
	return got
}

// wrote checks how many statements there were: for all that waits, for each of it by itself, and of single batches. It resets the
// counts.
func (s *sharers) wrote(together, shared, alone int64) {
	s.Helper()
	a, b, c := s.statements.together.Swap(0), s.statements.shared.Swap(0), s.statements.alone.Swap(0)
	if a != together || b != shared || c != alone {
		s.Errorf("got %d statements for all, %d shared ones and %d of single batches, want %d, %d and %d", a, b, c, together, shared, alone)
	}
}

// holds checks the units left of the SKUs, and audits them.
func (s *sharers) holds(want map[string]int64) {
	s.Helper()
	for sku, units := range want {
		if status, err := s.store.Status(s.Context(), sku, time.Time{}); err != nil || status.Available != units {
			s.Errorf("SKU %s has %d left, %v, want %d", sku, status.Available, err, units)
		}
	}
	s.audit()
}

func (s *sharers) audit() {
	s.Helper()
	if audit, err := s.store.Audit(s.Context(), ""); err != nil || !audit.OK() {
		s.Errorf("audit: got %+v, %v, want no difference and no violation", audit, err)
	}
}

// soon returns an answer that must not wait for anything.
func (s *sharers) soon(got chan answer) answer {
	s.Helper()
	return soon(s.T, got)
}

// soon waits for an answer of any kind.
func soon[A any](t *testing.T, got <-chan A) (a A) {
	t.Helper()
	select {
	case a = <-got:
	case <-time.After(10 * time.Second):
		t.Fatal("no answer")
	}
	return a
}

// stays checks that there is no answer yet.
func (s *sharers) stays(what string, got chan answer) {
	s.Helper()
	select {
	case a := <-got:
		s.Errorf("%s is answered: %+v", what, a)
	case <-time.After(100 * time.Millisecond):
	}
}

// TestBatchesShareAStatement: batches of several SKUs that wait at the same time are one statement.
func TestBatchesShareAStatement(t *testing.T) {
	t.Parallel()
	s := openSharers(t, 20)
	var batches []stock.Batch
	want := map[string]int64{}
	for n := range 20 {
		batch := one(name(n), "o", "p")
		batch.Segment, batch.Orders[1].Quantity = n%2, 2
		if n%3 == 0 {
			batch.Orders[0].ReserveFor = time.Minute
		}
		batches, want[name(n)] = append(batches, batch), 17
	}
	for n, got := range s.together(batches...) {
		a := s.soon(got)
		s.wants(name(n), a, stock.Accepted, stock.Accepted)
		if a.result.Available != 7 || a.result.At.IsZero() {
			t.Errorf("%s: %+v", name(n), a.result)
		}
		for _, o := range a.result.Outcomes {
			d, err := s.store.Deduction(t.Context(), name(n), o.Deduction.OrderID)
			if err != nil || d.Status != o.Deduction.Status || d.Quantity != o.Deduction.Quantity ||
				d.ExpiresAt != o.Deduction.ExpiresAt || len(d.Parts) != 1 || d.Parts[0].Segment != n%2 {
				t.Errorf("%s: kept as %+v, %v, told as %+v", name(n), d, err, o.Deduction)
			}
		}
	}
	s.wrote(1, 0, 0)
	s.holds(want)
	for sku, reserved := range map[string]int64{"a": 1, "b": 0, "c": 0, "d": 1} {
		if status, err := s.store.Status(t.Context(), sku, time.Time{}); err != nil || status.Reserved != reserved {
			t.Errorf("%s: %d reserved, %v, want %d", sku, status.Reserved, err, reserved)
		}
	}
}

// TestABatchThatMeetsNobodyGoesAtOnce: so do a large one, and the first one of a SKU with a buyer limit.
func TestABatchThatMeetsNobodyGoesAtOnce(t *testing.T) {
	t.Parallel()
	s := openSharers(t, 2)
	counting := stock.NewSKU{SKU: "counting", Stock: 20, Segments: 2, Terms: stock.Terms{PerBuyerLimit: 1}}
	if _, err := s.store.CreateSKU(t.Context(), counting, time.Time{}); err != nil {
		t.Fatal(err)
	}
	s.wants("a", s.soon(s.deduct(t.Context(), one("a", "o"))), stock.Accepted)
	s.wrote(0, 0, 1)
	large, limited, soon := one("b"), one("counting", "o"), one("a", "p")
	for n := range 17 {
		large.Orders = append(large.Orders, stock.Order{OrderID: fmt.Sprint(n), Quantity: 1})
	}
	limited.Limit, limited.Orders[0].BuyerID = 1, "x"
	s.wants("buyers are counted", s.soon(s.deduct(t.Context(), limited)), stock.Accepted)
	letGo := s.store.HoldWriter()
	soon.Deadline = time.Now().Add(200 * time.Millisecond)
	if a := s.soon(s.deduct(t.Context(), large)); a.err != nil {
		t.Error(a.err)
	}
	s.soon(s.deduct(t.Context(), soon))
	letGo(0)
	if n := s.statements.together.Load() + s.statements.shared.Load(); n != 0 {
		t.Errorf("%d shared statements, want 0", n)
	}
	s.audit()
}

// TestEachBatchStandsForItself: whatever is wrong with one batch, the shared statement writes the others.
func TestEachBatchStandsForItself(t *testing.T) {
	t.Parallel()
	s := openSharers(t, 10)
	fenced := one("a", "o")
	fenced.Fence = stock.Fence{Token: 10, Owner: "x"}
	known := one("b", "o")
	for _, batch := range []stock.Batch{fenced, known} {
		s.wants("before", s.soon(s.deduct(t.Context(), batch)), stock.Accepted)
	}
	s.wrote(0, 0, 2)
	stale, short, layout, closed, unknown := one("a", "p"), one("c", "o"), one("d", "o"), one("e", "o"), one("none", "o")
	stale.Fence = stock.Fence{Token: 9, Owner: "y"}
	short.Orders = append(short.Orders, stock.Order{OrderID: "large", Quantity: 11})
	layout.Layout = 2
	closed.SaleWindow.EndsAt = s.store.Now().Add(-time.Minute)
	good := one("f", "o", "p")
	good.Fence = stock.Fence{Token: 3, Owner: "z"}
	got := s.together(stale, one("b", "n", "o", "p"), short, layout, closed, unknown, good, one("g", "o"))
	var refused *stock.FencedError
	if a := s.soon(got[0]); !errors.As(a.err, &refused) || refused.Tokens[0] != 10 {
		t.Errorf("stale fence: %+v", a)
	}
	s.wants("known", s.soon(got[1]), stock.Accepted, stock.Known, stock.Accepted)
	s.wants("short", s.soon(got[2]), stock.Accepted, stock.Short)
	if a := s.soon(got[3]); !errors.Is(a.err, stock.ErrLayout) {
		t.Errorf("layout: %+v, want %v", a, stock.ErrLayout)
	}
	s.wants("closed", s.soon(got[4]), stock.Closed)
	if a := s.soon(got[5]); stock.CodeOf(a.err) != stock.CodeUnknownSKU {
		t.Errorf("unknown SKU: %+v, want %s", a, stock.CodeUnknownSKU)
	}
	s.wants("good", s.soon(got[6]), stock.Accepted, stock.Accepted)
	s.wants("good", s.soon(got[7]), stock.Accepted)
	s.wrote(1, 1, 5)
	s.holds(map[string]int64{"a": 19, "b": 17, "c": 19, "d": 20, "e": 20, "f": 18, "g": 19})
	older := one("f", "q")
	older.Fence = stock.Fence{Token: 2, Owner: "z"}
	if a := s.soon(s.deduct(t.Context(), older)); !errors.Is(a.err, stock.ErrFenced) {
		t.Errorf("the shared write has left no fence: %+v, want %v", a, stock.ErrFenced)
	}
}

// TestKnownOrdersShareAWriteWithNewOnes: one statement answers both.
func TestKnownOrdersShareAWriteWithNewOnes(t *testing.T) {
	t.Parallel()
	s := openSharers(t, 3)
	for _, sku := range []string{"a", "b"} {
		s.wants("before", s.soon(s.deduct(t.Context(), one(sku, "o"))), stock.Accepted)
	}
	s.wrote(0, 0, 2)
	got := s.together(one("a", "o"), one("b", "o"), one("c", "o"))
	s.wants("a", s.soon(got[0]), stock.Known)
	s.wants("b", s.soon(got[1]), stock.Known)
	s.wants("c", s.soon(got[2]), stock.Accepted)
	s.wrote(1, 1, 0)
	s.holds(map[string]int64{"a": 19, "b": 19, "c": 19})
}

// TestBatchesOfOneSKUDoNotShare: one row is written once by a statement.
func TestBatchesOfOneSKUDoNotShare(t *testing.T) {
	t.Parallel()
	s := openSharers(t, 2)
	other := one("a", "q")
	other.Segment = 1
	for _, got := range s.together(one("a", "o"), one("a", "p"), one("b", "o"), other) {
		s.wants("batch", s.soon(got), stock.Accepted)
	}
	s.wrote(3, 0, 0)
	s.holds(map[string]int64{"a": 17, "b": 19})
}

// TestASharedWriteIsBounded: what exceeds the bound waits for the next one.
func TestASharedWriteIsBounded(t *testing.T) {
	t.Parallel()
	s := openSharers(t, 26)
	var batches []stock.Batch
	for n := range 26 {
		batch := one(name(n))
		for id := range 10 {
			batch.Orders = append(batch.Orders, stock.Order{OrderID: fmt.Sprint(id), Quantity: 1})
		}
		batches = append(batches, batch)
	}
	for n, got := range s.together(batches...) {
		if a := s.soon(got); a.err != nil || a.result.Available != 0 {
			t.Errorf("%s: %+v", name(n), a)
		}
	}
	s.wrote(2, 0, 0)
	s.audit()
}

// TestARowThatSomebodyHoldsKeepsOnlyItsOwnBatch: a session locks the row of a segment.
func TestARowThatSomebodyHoldsKeepsOnlyItsOwnBatch(t *testing.T) {
	t.Parallel()
	s := openSharers(t, 3)
	s.exec(`BEGIN; SELECT FROM stock_segments WHERE sku_id = 'b' FOR UPDATE`)
	late := one("c", "late")
	s.exec(`SELECT FROM stock_segments WHERE sku_id = 'c' FOR UPDATE`)
	late.Deadline = time.Now().Add(500 * time.Millisecond)
	got := s.together(one("a", "o"), one("b", "o"), late)
	s.wants("a", s.soon(got[0]), stock.Accepted)
	s.stays("b", got[1])
	for !time.Now().After(late.Deadline) { // its time is over before it gets the row
		time.Sleep(time.Millisecond)
	}
	s.exec(`ROLLBACK`)
	b := s.soon(got[1])
	s.wants("b", b, stock.Accepted)
	if !b.result.Skipped {
		t.Error("not told that the row was held")
	}
	if a := s.soon(got[2]); !errors.Is(a.err, stock.ErrLate) {
		t.Errorf("late: %+v, want %v", a, stock.ErrLate)
	}
	s.wrote(1, 1, 2) // the others are not written again
	s.holds(map[string]int64{"a": 19, "b": 19, "c": 20})
}

// TestAnOrderIDThatSomebodyHoldsKeepsOnlyItsOwnBatch: a session has inserted an order id, and does not commit.
func TestAnOrderIDThatSomebodyHoldsKeepsOnlyItsOwnBatch(t *testing.T) {
	t.Parallel()
	for end, want := range map[string]stock.OutcomeKind{"COMMIT": stock.Known, "ROLLBACK": stock.Accepted} {
		s := openSharers(t, 3)
		s.exec(`BEGIN; INSERT INTO deductions (sku_id, order_id, quantity, segment, status, created_at)
			VALUES ('b', 'o', 1, 1, 'committed', now());
			UPDATE stock_segments SET available = available - 1, version = version + 1 WHERE sku_id = 'b' AND segment = 1`)
		got := s.together(one("a", "o"), one("b", "o"), one("c", "o"))
		s.wants("a", s.soon(got[0]), stock.Accepted)
		s.wants("c", s.soon(got[2]), stock.Accepted)
		s.stays("b", got[1])
		s.exec(end)
		s.wants("b after "+end, s.soon(got[1]), want)
		s.holds(map[string]int64{"a": 19, "b": 19, "c": 19})
	}
}

// TestACircleOfWaits: a transaction that has inserted an order id wants a row that the shared write has, which waits
// for the order id. PostgreSQL must not abort the transaction.
func TestACircleOfWaits(t *testing.T) {
	t.Parallel()
	s := openSharers(t, 2)
	s.exec(`BEGIN; INSERT INTO deductions (sku_id, order_id, quantity, segment, status, created_at)
		VALUES ('a', 'o', 1, 1, 'committed', now())`)
	got := s.together(one("a", "o"), one("b", "o"))
	for waiting := false; !waiting; {
		err := s.conn.QueryRow(t.Context(), `SELECT EXISTS (SELECT FROM pg_locks WHERE NOT granted
			AND pg_backend_pid() = ANY (pg_blocking_pids(pid)))`).Scan(&waiting)
		if err != nil {
			t.Fatal(err)
		}
	}
	s.exec(`SELECT FROM stock_segments WHERE sku_id = 'b' FOR UPDATE`)
	s.exec(`ROLLBACK`)
	s.wants("a", s.soon(got[0]), stock.Accepted)
	s.wants("b", s.soon(got[1]), stock.Accepted)
	s.holds(map[string]int64{"a": 19, "b": 19})
}

// TestAConstraintThatFiresInASharedWrite costs the other batches one statement each.
func TestAConstraintThatFiresInASharedWrite(t *testing.T) {
	t.Parallel()
	s := openSharers(t, 3)
	s.exec(`ALTER TABLE deductions ADD CHECK (order_id <> 'poison')`)
	got := s.together(one("a", "o"), one("b", "good", "poison"), one("c", "o"))
	s.wants("a", s.soon(got[0]), stock.Accepted)
	s.wants("c", s.soon(got[2]), stock.Accepted)
	if a := s.soon(got[1]); !errors.Is(a.err, stock.ErrGuard) {
		t.Errorf("poison: %+v, want %v", a, stock.ErrGuard)
	}
	s.wrote(1, 1, 3)
	s.holds(map[string]int64{"a": 19, "b": 20, "c": 19})
}

// slow makes the insert of the order id "slow" take that long.
func (s *sharers) slow(took string) {
	s.exec(`
		CREATE FUNCTION sleep() RETURNS trigger LANGUAGE plpgsql AS $$
		BEGIN PERFORM pg_sleep(` + took + `); RETURN NEW; END $$;
		CREATE TRIGGER slow BEFORE INSERT ON deductions FOR EACH ROW WHEN (NEW.order_id = 'slow') EXECUTE FUNCTION sleep()`)
}

// TestASharedWriteThatIsLateWritesNothing: each of its batches then has its own deadline.
func TestASharedWriteThatIsLateWritesNothing(t *testing.T) {
	t.Parallel()
	s := openSharers(t, 3)
	s.slow("0.6")
	late := one("b", "late")
	late.Deadline = time.Now().Add(500 * time.Millisecond)
	byContext, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancel()
	letGo := s.store.HoldWriter()
	got := []chan answer{
		s.deduct(t.Context(), one("a", "slow")), s.deduct(t.Context(), late), s.deduct(byContext, one("c", "late")),
	}
	letGo(len(got))
	s.wants("without a deadline", s.soon(got[0]), stock.Accepted)
	if a := s.soon(got[1]); !errors.Is(a.err, stock.ErrLate) {
		t.Errorf("late: %+v, want %v", a, stock.ErrLate)
	}
	if a := s.soon(got[2]); !errors.Is(a.err, context.DeadlineExceeded) {
		t.Errorf("late by its context: %+v, want %v", a, context.DeadlineExceeded)
	}
	s.holds(map[string]int64{"a": 19, "b": 20, "c": 20})
}

// TestACallerWhoLeavesAloneLeaves: before the write, nothing is written for it; during the write, the others do not
// notice.
func TestACallerWhoLeavesAloneLeaves(t *testing.T) {
	t.Parallel()
	s := openSharers(t, 4)
	s.slow("0.3")
	letGo := s.store.HoldWriter()
	before, leaveBefore := context.WithCancel(t.Context())
	during, leaveDuring := context.WithCancel(t.Context())
	defer leaveDuring()
	gone := s.deduct(before, one("a", "o"))
	s.store.Waits(1)
	stays := []chan answer{s.deduct(t.Context(), one("b", "slow")), s.deduct(t.Context(), one("c", "o"))}
	s.store.Waits(3)
	leaves := s.deduct(during, one("d", "o")) // the last
	s.store.Waits(4)
	leaveBefore()
	if a := s.soon(gone); !errors.Is(a.err, context.Canceled) {
		t.Errorf("left before: %+v, want %v", a, context.Canceled)
	}
	letGo(3)
	s.store.Waits(0)
	leaveDuring()
	if a := s.soon(leaves); !errors.Is(a.err, context.Canceled) {
		t.Errorf("left in the middle: %+v, want %v", a, context.Canceled)
	}
	for _, got := range stays {
		s.wants("who stays", s.soon(got), stock.Accepted)
	}
	s.wrote(1, 0, 0)
	s.holds(map[string]int64{"a": 20, "b": 19, "c": 19, "d": 19})
}

// TestABatchDoesNotWaitForAWriterThatIsStuck: it is written alone.
func TestABatchDoesNotWaitForAWriterThatIsStuck(t *testing.T) {
	t.Parallel()
	s := openSharers(t, 2)
	s.slow("1.5")
	stuck := s.together(one("a", "slow"))[0]
	s.store.Waits(0)
	if a := s.soon(s.deduct(t.Context(), one("b", "o"))); a.err != nil || a.after < 400*time.Millisecond {
		t.Errorf("%+v", a)
	}
	s.stays("a", stuck)
	s.wants("a", s.soon(stuck), stock.Accepted)
	s.wrote(1, 0, 1)
	s.audit()
}

// TestAnOrderDoesNotWaitForAWriterThatIsStuck: nobody waits with the batch that it is in.
func TestAnOrderDoesNotWaitForAWriterThatIsStuck(t *testing.T) {
	t.Parallel()
	s := openSharers(t, 2)
	s.slow("1.5")
	service := selling.NewService(selling.Config{Store: s.store})
	buy := func(id string) {
		t.Helper()
		if _, _, err := service.Deduct(t.Context(), "b", stock.Order{OrderID: id, Quantity: 1}); err != nil {
			t.Error(err)
		}
	}
	buy("o") // then the SKU is known
	stuck := s.together(one("a", "slow"))[0]
	s.store.Waits(0)
	buy("p")
	s.stays("a", stuck)
	buy("q") // at once
	s.stays("a", stuck)
	s.wants("a", s.soon(stuck), stock.Accepted)
	s.holds(map[string]int64{"a": 19, "b": 17})
	if err := service.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestSharersRace lets three processes sell many SKUs to the last unit, all through shared writes: with shared order
// ids, buyers at their limit, orders that do not fit, fences, merges, orders of several SKUs, cancels, restocks, and a
// session that locks rows.
func TestSharersRace(t *testing.T) {
	t.Parallel()
	const skus, workers, rounds = 12, 24, 40
	s := openSharers(t, skus+2)
	s.exec(fmt.Sprintf(`UPDATE skus SET per_buyer_limit = %d WHERE sku_id >= '%s'`, raceLimit, name(skus)))
	stores := []*postgres.Store{s.store, s.open(), s.open()}
	stores[0].SetSharing(postgres.ShareAll)
	r := racers{sharers: s, stores: stores, accepted: map[string]int{}}
	stop, locked := make(chan struct{}), make(chan error, 1)
	go func() { locked <- r.lockRows(stop) }()
	var running sync.WaitGroup
	for worker := range workers {
		running.Go(func() {
			for round := range rounds {
				r.step(worker, round)
			}
		})
	}
	running.Wait()
	close(stop)
	if err := <-locked; err != nil {
		t.Error(err)
	}
	if s.statements.together.Load() == 0 || s.statements.shared.Load() == 0 {
		t.Error("nothing was shared")
	}
	r.check()
}
