package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"inventory/internal/busytest"
	"inventory/internal/stock"
	"inventory/internal/stock/postgres"
	"inventory/internal/stock/selling"
)

// counter counts the statements of batches, and the transactions.
type counter struct {
	together, shared, alone, begun atomic.Int64
	allNew                         atomic.Int64 // of alone, those that expect no known order

	delay atomic.Int64 // of each of them, in nanoseconds of virtual time
}

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
	switch {
	case strings.HasPrefix(sql, "BEGIN ISOLATION LEVEL READ COMMITTED"):
		c.begun.Add(1)
	case sql == statements.Of("take_together").Text:
		c.together.Add(1)
	case sql == statements.Of("take_each").Text:
		c.shared.Add(1)
	case sql == statements.Of("deduct_new").Text:
		c.allNew.Add(1)
		c.alone.Add(1)
	case sql == statements.Of("deduct").Text, sql == statements.Of("deduct_limited").Text:
		c.alone.Add(1)
	default:
		return
	}
	time.Sleep(time.Duration(c.delay.Load()))
}

// TraceQueryEnd implements [pgx.QueryTracer].
func (c *counter) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

// sharers are SKUs "a", "b", "c" and so on, of two segments with 10 units each, and a store that sells them.
type sharers struct {
	t          *testing.T
	store      *postgres.Store
	opening    opening
	url        string
	conn       *pgx.Conn // next to the store
	statements *counter
}

// opening opens a store.
type opening func(ctx context.Context, url string, maxConns int32, configure ...func(*pgxpool.Config)) (*postgres.Store, error)

// openSharers opens sharers for a test in virtual time. It stands still while a statement is under way: none of a store's limits
// ends that.
func openSharers(t *testing.T, skus int) *sharers {
	t.Helper()
	return openSharersBy(t, skus, postgres.Open)
}

func openSharersBy(t *testing.T, skus int, open opening) *sharers {
	t.Helper()
	url, drop, err := server.CreateDatabase(t.Context(), template)
	if err != nil {
		t.Fatal(err)
	}
	s := &sharers{t: t, opening: open, url: url, statements: &counter{}}
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
	s.t.Helper()
	store, err := s.opening(s.t.Context(), s.url, 0, func(c *pgxpool.Config) { c.ConnConfig.Tracer = s.statements })
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() {
		if err := store.Close(); err != nil {
			s.t.Error(err)
		}
	})
	return store
}

func (s *sharers) connect() *pgx.Conn {
	s.t.Helper()
	conn, err := pgx.Connect(s.t.Context(), s.url)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() {
		if err := conn.Close(context.WithoutCancel(s.t.Context())); err != nil {
			s.t.Error(err)
		}
	})
	return conn
}

// exec runs a statement outside the store.
func (s *sharers) exec(statement string) {
	s.t.Helper()
	if _, err := s.conn.Exec(s.t.Context(), statement); err != nil {
		s.t.Fatal(err)
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

// answer is the result of a batch.
type answer struct {
	result stock.BatchResult
	err    error
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
	s.t.Helper()
	if a.err != nil || fmt.Sprint(a.kinds()) != fmt.Sprint(kinds) {
		s.t.Errorf("%s: outcomes %v, %v, want %v", what, a.kinds(), a.err, kinds)
	}
}

// together lets batches wait until all do, and returns a channel for each answer.
func (s *sharers) together(batches ...stock.Batch) []chan answer {
	s.t.Helper()
	letGo := s.store.HoldWriter()
	answers := make([]chan answer, len(batches))
	for n, batch := range batches {
		ctx, cancel := context.WithTimeout(s.t.Context(), time.Duration(n+1)*time.Minute)
		s.t.Cleanup(cancel)
		answers[n] = s.deduct(ctx, batch)
	}
	s.waiting(len(batches))
	letGo()
	return answers
}

// waiting returns when that many batches and orders wait for the writer, which is held. The test runs in virtual time.
func (s *sharers) waiting(want int) {
	s.t.Helper()
	synctest.Wait()
	if got, _ := s.store.Waiting(); got != want {
		s.t.Fatalf("%d writes wait, want %d", got, want)
	}
}

// deduct begins to write a batch, which joins a shared write if one is under way.
func (s *sharers) deduct(ctx context.Context, batch stock.Batch) chan answer {
	got := make(chan answer, 1)
	go func() {
		result, err := joining{s.store}.Deduct(ctx, batch)
		got <- answer{result, err}
	}()
	return got
}

// wrote checks how many statements there were: for all that waits, for each of it by itself, and of single batches. It resets the
// counts.
func (s *sharers) wrote(together, shared, alone int64) {
	s.t.Helper()
	a, b, c := s.statements.together.Swap(0), s.statements.shared.Swap(0), s.statements.alone.Swap(0)
	if a != together || b != shared || c != alone {
		s.t.Errorf("got %d statements for all, %d shared ones and %d of single batches, want %d, %d and %d", a, b, c, together, shared, alone)
	}
}

// holds checks the units left of the SKUs, and audits them.
func (s *sharers) holds(want map[string]int64) {
	s.t.Helper()
	for sku, units := range want {
		if status, err := s.store.Status(s.t.Context(), sku, time.Time{}); err != nil || status.Available != units {
			s.t.Errorf("SKU %s has %d left, %v, want %d", sku, status.Available, err, units)
		}
	}
	s.audit()
}

func (s *sharers) audit() {
	s.t.Helper()
	if audit, err := s.store.Audit(s.t.Context(), "", nil); err != nil || !audit.OK() {
		s.t.Errorf("audit: got %+v, %v, want no difference and no violation", audit, err)
	}
}

// stays returns when a statement waits for what the connection next to the store holds, and checks that there is no answer.
func stays[A any](s *sharers, what string, got chan A) {
	s.t.Helper()
	blocking(s.t, s.conn, got)
	if len(got) > 0 {
		s.t.Errorf("%s does not wait: %+v", what, <-got)
	}
}

// stall makes an insert wait until goOn: of which rows, a trigger says.
func (s *sharers) stall(trigger string) {
	s.t.Helper()
	s.exec(`
		CREATE TABLE stalls ();
		INSERT INTO stalls DEFAULT VALUES;
		CREATE FUNCTION stall() RETURNS trigger LANGUAGE plpgsql AS $$
		BEGIN WHILE EXISTS (SELECT FROM stalls) LOOP PERFORM pg_sleep(0.005); END LOOP; RETURN NEW; END $$;
		CREATE TRIGGER stall ` + trigger + ` EXECUTE FUNCTION stall()`)
	s.t.Cleanup(s.goOn)
}

// slowOrder is the trigger of the order id "slow".
const slowOrder = `BEFORE INSERT ON deductions FOR EACH ROW WHEN (NEW.order_id = 'slow')`

// soonOver is the time of what is late after [sharers.beLate].
const soonOver = 300 * time.Millisecond

// beLate makes the next writes take longer than soonOver: in virtual time, which is that of the store, on the way, and in real time,
// which is that of the server, at the rows of a trigger.
func (s *sharers) beLate(trigger string) {
	s.t.Helper()
	s.statements.delay.Store(int64(soonOver + time.Millisecond))
	s.exec(fmt.Sprintf(`
		CREATE FUNCTION sleep() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(%f); RETURN NEW; END $$;
		CREATE TRIGGER sleep %s EXECUTE FUNCTION sleep()`, soonOver.Seconds(), trigger))
}

// stalled returns when an insert waits.
func (s *sharers) stalled() {
	s.t.Helper()
	until(s.t, s.conn, `SELECT EXISTS (SELECT FROM pg_stat_activity
		WHERE datname = current_database() AND pid <> pg_backend_pid() AND wait_event = 'PgSleep')`)
}

func (s *sharers) goOn() {
	s.t.Helper()
	if _, err := s.conn.Exec(context.WithoutCancel(s.t.Context()), `DELETE FROM stalls`); err != nil {
		s.t.Error(err)
	}
}

// TestBatchesShareAStatement: batches of several SKUs that wait at the same time are one statement.
func TestBatchesShareAStatement(t *testing.T) {
	t.Parallel()
	busytest.Virtual(t, func(t *testing.T) {
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
			a := <-got
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
	})
}

// TestBatchesGatherWhileOneIsWrittenByItself, and no longer. The one that goes by itself waits for no shared write.
func TestBatchesGatherWhileOneIsWrittenByItself(t *testing.T) {
	t.Parallel()
	busytest.Virtual(t, func(t *testing.T) {
		s := openSharers(t, 3)
		s.stall(slowOrder)
		byItself := func(batch stock.Batch) chan answer {
			got := make(chan answer, 1)
			go func() {
				result, err := s.store.Deduct(t.Context(), batch)
				got <- answer{result, err}
			}()
			return got
		}
		slow := byItself(one("a", "slow"))
		s.stalled()
		s.wants("beside it", <-s.deduct(t.Context(), one("b", "o")), stock.Accepted)
		s.wrote(1, 0, 1)
		letGo := s.store.HoldWriter()
		s.wants("beside the writer", <-byItself(one("c", "o")), stock.Accepted)
		letGo()
		s.wrote(0, 0, 1)
		s.goOn()
		s.wants("slow", <-slow, stock.Accepted)
		synctest.Wait() // the writer ends
		s.wants("beside nothing", <-s.deduct(t.Context(), one("b", "p")), stock.Accepted)
		s.wrote(0, 0, 1)
		s.holds(map[string]int64{"a": 19, "b": 18, "c": 19})
	})
}

// TestABatchThatMeetsNobodyGoesAtOnce: so do a large one, and the first one of a SKU with a buyer limit.
func TestABatchThatMeetsNobodyGoesAtOnce(t *testing.T) {
	t.Parallel()
	busytest.Virtual(t, func(t *testing.T) {
		s := openSharers(t, 2)
		counting := stock.NewSKU{SKU: "counting", Stock: 20, Segments: 2, Terms: stock.Terms{PerBuyerLimit: 1}}
		if _, err := s.store.CreateSKU(t.Context(), counting, time.Time{}); err != nil {
			t.Fatal(err)
		}
		s.wants("a", <-s.deduct(t.Context(), one("a", "o")), stock.Accepted)
		s.wrote(0, 0, 1)
		large, limited, soon := one("b"), one("counting", "o"), one("a", "p")
		for n := range 17 {
			large.Orders = append(large.Orders, stock.Order{OrderID: fmt.Sprint(n), Quantity: 1})
		}
		limited.Limit, limited.Orders[0].BuyerID = 1, "x"
		s.wants("buyers are counted", <-s.deduct(t.Context(), limited), stock.Accepted)
		letGo := s.store.HoldWriter()
		soon.Deadline = time.Now().Add(200 * time.Millisecond)
		if a := <-s.deduct(t.Context(), large); a.err != nil {
			t.Error(a.err)
		}
		<-s.deduct(t.Context(), soon)
		letGo()
		if n := s.statements.together.Load() + s.statements.shared.Load(); n != 0 {
			t.Errorf("%d shared statements, want 0", n)
		}
		s.audit()
	})
}

// TestEachBatchStandsForItself: whatever is wrong with one batch, the shared statement writes the others.
func TestEachBatchStandsForItself(t *testing.T) {
	t.Parallel()
	busytest.Virtual(t, func(t *testing.T) {
		s := openSharers(t, 10)
		fenced := one("a", "o")
		fenced.Fence = stock.Fence{Token: 10, Owner: "x"}
		known := one("b", "o")
		for _, batch := range []stock.Batch{fenced, known} {
			s.wants("before", <-s.deduct(t.Context(), batch), stock.Accepted)
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
		if a := <-got[0]; !errors.As(a.err, &refused) || refused.Tokens[0] != 10 {
			t.Errorf("stale fence: %+v", a)
		}
		s.wants("known", <-got[1], stock.Accepted, stock.Known, stock.Accepted)
		s.wants("short", <-got[2], stock.Accepted, stock.Short)
		if a := <-got[3]; !errors.Is(a.err, stock.ErrLayout) {
			t.Errorf("layout: %+v, want %v", a, stock.ErrLayout)
		}
		s.wants("closed", <-got[4], stock.Closed)
		if a := <-got[5]; stock.CodeOf(a.err) != stock.CodeUnknownSKU {
			t.Errorf("unknown SKU: %+v, want %s", a, stock.CodeUnknownSKU)
		}
		s.wants("good", <-got[6], stock.Accepted, stock.Accepted)
		s.wants("good", <-got[7], stock.Accepted)
		s.wrote(1, 1, 5)
		s.holds(map[string]int64{"a": 19, "b": 17, "c": 19, "d": 20, "e": 20, "f": 18, "g": 19})
		older := one("f", "q")
		older.Fence = stock.Fence{Token: 2, Owner: "z"}
		if a := <-s.deduct(t.Context(), older); !errors.Is(a.err, stock.ErrFenced) {
			t.Errorf("the shared write has left no fence: %+v, want %v", a, stock.ErrFenced)
		}
	})
}

// TestKnownOrdersShareAWriteWithNewOnes: one statement answers both.
func TestKnownOrdersShareAWriteWithNewOnes(t *testing.T) {
	t.Parallel()
	busytest.Virtual(t, func(t *testing.T) {
		s := openSharers(t, 3)
		for _, sku := range []string{"a", "b"} {
			s.wants("before", <-s.deduct(t.Context(), one(sku, "o")), stock.Accepted)
		}
		s.wrote(0, 0, 2)
		got := s.together(one("a", "o"), one("b", "o"), one("c", "o"))
		s.wants("a", <-got[0], stock.Known)
		s.wants("b", <-got[1], stock.Known)
		s.wants("c", <-got[2], stock.Accepted)
		s.wrote(1, 1, 0)
		s.holds(map[string]int64{"a": 19, "b": 19, "c": 19})
	})
}

// TestBatchesOfOneSKUDoNotShare: one row is written once by a statement.
func TestBatchesOfOneSKUDoNotShare(t *testing.T) {
	t.Parallel()
	busytest.Virtual(t, func(t *testing.T) {
		s := openSharers(t, 2)
		other := one("a", "q")
		other.Segment = 1
		for _, got := range s.together(one("a", "o"), one("a", "p"), one("b", "o"), other) {
			s.wants("batch", <-got, stock.Accepted)
		}
		s.wrote(3, 0, 0)
		s.holds(map[string]int64{"a": 17, "b": 19})
	})
}

// TestASharedWriteIsBounded: what exceeds the bound waits for the next one.
func TestASharedWriteIsBounded(t *testing.T) {
	t.Parallel()
	busytest.Virtual(t, func(t *testing.T) {
		const skus = 257
		s := openSharers(t, skus)
		var batches []stock.Batch
		for n := range skus {
			batches = append(batches, one(name(n), "o"))
		}
		for n, got := range s.together(batches...) {
			s.wants(name(n), <-got, stock.Accepted)
		}
		s.wrote(2, 0, 0)
		s.audit()
	})
}

// TestARowThatSomebodyHoldsKeepsOnlyItsOwnBatch: a session locks the row of a segment.
func TestARowThatSomebodyHoldsKeepsOnlyItsOwnBatch(t *testing.T) {
	t.Parallel()
	busytest.Virtual(t, func(t *testing.T) {
		s := openSharers(t, 3)
		s.exec(`BEGIN; SELECT FROM stock_segments WHERE sku_id = 'b' FOR UPDATE`)
		got := s.together(one("a", "o"), one("b", "o"), one("c", "o"))
		s.wants("a", <-got[0], stock.Accepted)
		s.wants("c", <-got[2], stock.Accepted)
		stays(s, "b", got[1])
		s.exec(`ROLLBACK`)
		b := <-got[1]
		s.wants("b", b, stock.Accepted)
		if !b.result.Skipped {
			t.Error("not told that the row was held")
		}
		s.wrote(1, 1, 1) // the others are not written again
		s.holds(map[string]int64{"a": 19, "b": 19, "c": 19})
	})
}

// TestABatchThatGetsItsRowLateWritesNothing: a session locks the row until the batch's time is over.
func TestABatchThatGetsItsRowLateWritesNothing(t *testing.T) {
	t.Parallel()
	busytest.Virtual(t, func(t *testing.T) {
		s := openSharers(t, 2)
		late := one("b", "late")
		s.exec(`BEGIN; SELECT FROM stock_segments WHERE sku_id = 'b' FOR UPDATE`)
		late.Deadline = time.Now().Add(soonOver)
		s.statements.delay.Store(int64(soonOver))
		got := s.together(one("a", "o"), late)
		s.wants("a", <-got[0], stock.Accepted)
		s.exec(`SELECT pg_sleep(0.3); ROLLBACK`) // as long as soonOver by the server's clock
		if a := <-got[1]; !errors.Is(a.err, stock.ErrLate) {
			t.Errorf("late: %+v, want %v", a, stock.ErrLate)
		}
		s.holds(map[string]int64{"a": 19, "b": 20})
	})
}

// TestAnOrderIDThatSomebodyHoldsKeepsOnlyItsOwnBatch: a session has inserted an order id, and does not commit.
func TestAnOrderIDThatSomebodyHoldsKeepsOnlyItsOwnBatch(t *testing.T) {
	t.Parallel()
	busytest.Virtual(t, func(t *testing.T) {
		for end, want := range map[string]stock.OutcomeKind{"COMMIT": stock.Known, "ROLLBACK": stock.Accepted} {
			s := openSharers(t, 3)
			s.exec(`BEGIN; INSERT INTO deductions (sku_id, order_id, quantity, segment, status, created_at)
			VALUES ('b', 'o', 1, 1, 'committed', now());
			UPDATE stock_segments SET available = available - 1, version = version + 1 WHERE sku_id = 'b' AND segment = 1`)
			got := s.together(one("a", "o"), one("b", "o"), one("c", "o"))
			s.wants("a", <-got[0], stock.Accepted)
			s.wants("c", <-got[2], stock.Accepted)
			stays(s, "b", got[1])
			s.exec(end)
			s.wants("b after "+end, <-got[1], want)
			s.holds(map[string]int64{"a": 19, "b": 19, "c": 19})
		}
	})
}

// TestACircleOfWaits: a transaction that has inserted an order id wants a row that the shared write has, which waits
// for the order id. PostgreSQL must not abort the transaction.
func TestACircleOfWaits(t *testing.T) {
	t.Parallel()
	busytest.Virtual(t, func(t *testing.T) {
		s := openSharers(t, 2)
		s.exec(`BEGIN; INSERT INTO deductions (sku_id, order_id, quantity, segment, status, created_at)
		VALUES ('a', 'o', 1, 1, 'committed', now())`)
		got := s.together(one("a", "o"), one("b", "o"))
		stays(s, "a", got[0])
		s.exec(`SELECT FROM stock_segments WHERE sku_id = 'b' FOR UPDATE`)
		s.exec(`ROLLBACK`)
		s.wants("a", <-got[0], stock.Accepted)
		s.wants("b", <-got[1], stock.Accepted)
		s.holds(map[string]int64{"a": 19, "b": 19})
	})
}

// TestAConstraintThatFiresInASharedWrite costs the other batches one statement each.
func TestAConstraintThatFiresInASharedWrite(t *testing.T) {
	t.Parallel()
	busytest.Virtual(t, func(t *testing.T) {
		s := openSharers(t, 3)
		s.exec(`ALTER TABLE deductions ADD CHECK (order_id <> 'poison')`)
		got := s.together(one("a", "o"), one("b", "good", "poison"), one("c", "o"))
		s.wants("a", <-got[0], stock.Accepted)
		s.wants("c", <-got[2], stock.Accepted)
		if a := <-got[1]; !errors.Is(a.err, stock.ErrGuard) {
			t.Errorf("poison: %+v, want %v", a, stock.ErrGuard)
		}
		s.wrote(1, 1, 3)
		s.holds(map[string]int64{"a": 19, "b": 20, "c": 19})
	})
}

// TestASharedWriteThatIsLateWritesNothing: each of its batches then has its own deadline.
func TestASharedWriteThatIsLateWritesNothing(t *testing.T) {
	t.Parallel()
	busytest.Virtual(t, func(t *testing.T) {
		s := openSharers(t, 3)
		s.beLate(slowOrder)
		late := one("b", "late")
		late.Deadline = time.Now().Add(soonOver)
		byContext, cancel := context.WithTimeout(t.Context(), soonOver)
		defer cancel()
		letGo := s.store.HoldWriter()
		got := []chan answer{
			s.deduct(t.Context(), one("a", "slow")), s.deduct(t.Context(), late), s.deduct(byContext, one("c", "late")),
		}
		s.waiting(len(got))
		letGo()
		s.wants("without a deadline", <-got[0], stock.Accepted)
		if a := <-got[1]; !errors.Is(a.err, stock.ErrLate) {
			t.Errorf("late: %+v, want %v", a, stock.ErrLate)
		}
		if a := <-got[2]; !errors.Is(a.err, context.DeadlineExceeded) {
			t.Errorf("late by its context: %+v, want %v", a, context.DeadlineExceeded)
		}
		s.holds(map[string]int64{"a": 19, "b": 20, "c": 20})
	})
}

// TestACallerWhoLeavesAloneLeaves: before the write, nothing is written for it; during the write, the others do not
// notice.
func TestACallerWhoLeavesAloneLeaves(t *testing.T) {
	t.Parallel()
	busytest.Virtual(t, func(t *testing.T) {
		s := openSharers(t, 4)
		s.stall(slowOrder)
		letGo := s.store.HoldWriter()
		before, leaveBefore := context.WithCancel(t.Context())
		during, leaveDuring := context.WithCancel(t.Context())
		defer leaveDuring()
		gone, leaves := s.deduct(before, one("a", "o")), s.deduct(during, one("d", "o"))
		stay := []chan answer{s.deduct(t.Context(), one("b", "slow")), s.deduct(t.Context(), one("c", "o"))}
		s.waiting(4)
		leaveBefore()
		if a := <-gone; !errors.Is(a.err, context.Canceled) {
			t.Errorf("left before: %+v, want %v", a, context.Canceled)
		}
		letGo()
		s.stalled()
		leaveDuring()
		if a := <-leaves; !errors.Is(a.err, context.Canceled) {
			t.Errorf("left in the middle: %+v, want %v", a, context.Canceled)
		}
		s.goOn()
		for _, got := range stay {
			s.wants("who stays", <-got, stock.Accepted)
		}
		s.wrote(1, 0, 0)
		s.holds(map[string]int64{"a": 20, "b": 19, "c": 19, "d": 19})
	})
}

// TestABatchDoesNotWaitForAWriterThatIsStuck: it is written alone.
func TestABatchDoesNotWaitForAWriterThatIsStuck(t *testing.T) {
	t.Parallel()
	busytest.Virtual(t, func(t *testing.T) {
		s := openSharers(t, 1)
		letGo, began := s.store.HoldWriter(), time.Now()
		s.wants("a", <-s.deduct(t.Context(), one("a", "o")), stock.Accepted)
		if waited := time.Since(began); waited != postgres.WriterWait {
			t.Errorf("it waited for %v, want %v", waited, postgres.WriterWait)
		}
		letGo()
		s.wrote(0, 0, 1)
		s.audit()
	})
}

// sharedOrNot counts the batches of a service that are to share a write.
type sharedOrNot struct {
	*postgres.Store
	shared atomic.Int64
}

// Share implements [stock.Sharer].
func (s *sharedOrNot) Share(sku string, batch stock.SharedBatch) bool {
	shared := s.Store.Share(sku, batch)
	if shared {
		s.shared.Add(1)
	}
	return shared
}

// TestAnOrderDoesNotWaitForAWriterThatIsStuck: nobody waits with the batch that it is in. Once it is known that the writer is stuck, an
// order goes by itself at once.
func TestAnOrderDoesNotWaitForAWriterThatIsStuck(t *testing.T) {
	t.Parallel()
	s := openSharersBy(t, 1, postgres.OpenPatiently)
	s.store.SetSharing(postgres.ShareAll)
	s.stall(slowOrder)
	store := &sharedOrNot{Store: s.store}
	service := selling.NewService(selling.Config{Store: store, AnswerWithin: busytest.Patience})
	if _, _, err := service.CreateSKU(t.Context(), stock.NewSKU{SKU: "hot", Stock: 1_000_000, Segments: 1}); err != nil {
		t.Fatal(err)
	}
	orders := 0
	buy := func() {
		t.Helper()
		orders++
		if _, _, err := service.Deduct(t.Context(), "hot", stock.Order{OrderID: fmt.Sprint(orders), Quantity: 1}); err != nil {
			t.Error(err)
		}
	}
	busytest.Soon(t, "an order shares a write", func() bool {
		buy()
		return store.shared.Load() > 0
	})
	stuck := s.deduct(t.Context(), one("a", "slow"))
	s.stalled()
	buy()
	before := store.shared.Load()
	buy()
	if n := store.shared.Load() - before; n != 0 {
		t.Errorf("%d more orders wait for the writer, want none", n)
	}
	if len(stuck) > 0 {
		t.Errorf("a is not stuck: %+v", <-stuck)
	}
	s.goOn()
	s.wants("a", <-stuck, stock.Accepted)
	s.holds(map[string]int64{"a": 19, "hot": 1_000_000 - int64(orders)})
	if err := service.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestSharersRace lets three processes sell many SKUs to the last unit, all through shared writes: with shared order
// ids, buyers at their limit, orders that do not fit, fences, merges, orders of several SKUs, cancels, restocks, and a
// session that locks rows.
func TestSharersRace(t *testing.T) {
	busytest.Slow(t)
	t.Parallel()
	busytest.Virtual(t, func(t *testing.T) {
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
	})
}
