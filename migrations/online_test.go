package migrations_test

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"inventory/internal/busytest"
	"inventory/internal/stock"
	"inventory/internal/stock/postgres"
	"inventory/internal/stock/tables"
	"inventory/migrations"
)

// base brings an empty database to the base schema.
func base(t *testing.T, url string) {
	t.Helper()
	if _, err := migrate(t.Context(), url); err != nil {
		t.Fatal(err)
	}
	m, err := migrations.OpenPostgres(url)
	if err != nil {
		t.Fatal(err)
	}
	undo(t, m, "ledger_total")
}

// grow fills the ledgers of SKUs, each with as many movements of one unit, and sells from one.
func grow(t *testing.T, url string, skus, movements int) {
	t.Helper()
	execute(t, url,
		fmt.Sprintf(`INSERT INTO skus (sku_id, name, initial, segments, created_at) SELECT 'sku-' || n, '', 0, 1, now() FROM generate_series(1, %d) n`, skus),
		`INSERT INTO stock_segments (sku_id, segment, available) SELECT sku_id, 0, `+fmt.Sprint(movements)+` FROM skus`,
		fmt.Sprintf(`INSERT INTO movements (sku_id, ref, kind, quantity, reason, created_at)
			SELECT sku_id, 'm' || n, 'restock', 1, '', now() - interval '1 day' + n * interval '1 ms' FROM skus, generate_series(1, %d) n`, movements))
}

// TestAReaderDelaysAMigrationAndNoOrder: a step waits for the table that a report reads, says so, and lets others write meanwhile.
func TestAReaderDelaysAMigrationAndNoOrder(t *testing.T) {
	t.Parallel()
	url := database(t)
	base(t, url)
	grow(t, url, 3, 2)
	reader, writer := connect(t, url), connect(t, url)
	defer reader.Close(t.Context())
	defer writer.Close(t.Context())
	if _, err := reader.Exec(t.Context(), `SET application_name = 'a report'; BEGIN; SELECT FROM skus, deductions LIMIT 0`); err != nil {
		t.Fatal(err)
	}
	m, err := migrations.OpenPostgres(url)
	if err != nil {
		t.Fatal(err)
	}
	migrated, waits := make(chan error, 1), make(chan string)
	ended := make(chan struct{})
	m.Notice = func(n migrations.Notice) {
		if n.Waits != "" {
			select {
			case waits <- n.Waits:
			case <-ended:
			}
		}
	}
	go func() { migrated <- errors.Join(m.Up(t.Context()), m.Close()) }()
	for range 3 { // each time it has tried
		if what := busytest.Receive(t, "the migration waits", waits); !strings.Contains(what, "a report") {
			t.Errorf("it waits for %q", what)
		}
		if _, err := writer.Exec(t.Context(), `UPDATE skus SET kept = kept + 1 WHERE sku_id = 'sku-1'`); err != nil {
			t.Error(err)
		}
	}
	close(ended)
	if _, err := reader.Exec(t.Context(), `COMMIT`); err != nil {
		t.Fatal(err)
	}
	if err := busytest.Receive(t, "the end of the migration", migrated); err != nil {
		t.Error(err)
	}
}

// TestAKilledMigrationGoesOn: one that is killed while it fills, or while it builds an index, leaves what the next one finishes.
func TestAKilledMigrationGoesOn(t *testing.T) {
	t.Parallel()
	url := database(t)
	base(t, url)
	grow(t, url, 1000, 3)
	ctx, kill := context.WithCancel(t.Context())
	defer kill()
	m, err := migrations.OpenPostgres(url)
	if err != nil {
		t.Fatal(err)
	}
	filled := int64(0)
	m.Notice = func(n migrations.Notice) {
		if filled += n.Rows; n.Rows > 0 {
			kill()
		}
	}
	if err := m.Up(ctx); err == nil {
		t.Error("it was not killed")
	}
	if filled == 0 || filled == 1000 {
		t.Errorf("it has filled %d rows of 1000", filled)
	}
	if err := m.Close(); err != nil {
		t.Error(err)
	}
	// The remains of a killed build.
	execute(t, url, `CREATE INDEX deductions_by_end ON deductions (expires_at)`,
		`UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'deductions_by_end'::regclass`)
	if _, err := migrate(t.Context(), url); err != nil {
		t.Fatal(err)
	}
	conn := connect(t, url)
	defer conn.Close(t.Context())
	var right int
	var valid bool
	err = conn.QueryRow(t.Context(), `SELECT count(*) FILTER (WHERE moved = 3), (SELECT indisvalid AND indpred IS NOT NULL FROM pg_index
		WHERE indexrelid = 'deductions_by_end'::regclass) FROM skus`).Scan(&right, &valid)
	if err != nil || right != 1000 || !valid {
		t.Errorf("%d ledgers of 1000 add up, the index is valid: %v, %v", right, valid, err)
	}
}

// The statements of 0.1.0 that write, as its programs send them. They are never edited.
//
//go:embed testdata/0.1.0/*.sql
var earlierStatements embed.FS

// earlier opens a database as a program of 0.1.0 does: its writes are those statements. A statement that it did not send does nothing.
func earlier(ctx context.Context, t *testing.T, url string) stock.Store {
	t.Helper()
	folder, err := fs.Sub(earlierStatements, "testdata/0.1.0")
	if err != nil {
		t.Fatal(err)
	}
	now, then := postgres.Statements(), tables.ReadSQL(folder)
	// Those that search or read the clock have other arguments or columns by now, so those of today take their place.
	reads := []string{"statuses", "views", "has_expired", "next_expiry", "skus_with_expired", "expire", "clock", "uncount_buyers"}
	store, err := postgres.OpenLater(ctx, url, 2, postgres.Access{SQL: func(name string) tables.SQL {
		earlier, there := then[name]
		earlier.Text = strings.ReplaceAll(earlier.Text, "d.created_at, d.expires_at", "d.created_at, d.committed_at, d.expires_at")
		switch {
		case name == "lock_sku", name == "add_up_ledger":
			return tables.SQL{Text: `SELECT WHERE $1::text IS NULL`}
		case !there || slices.Contains(reads, name): // as far as the base schema has the columns
			today := now.Of(name)
			today.Text = strings.NewReplacer("coalesce(d.counted_at, d.sku_id)", "d.sku_id", "coalesce(k.limit_group, '')", "''").Replace(today.Text)
			return today
		case name == "lock_whole": // as all, without when it was committed, and without where the buyer is counted, and the revision
			earlier.Text = strings.Replace(earlier.Text, "\nFROM", ", '', 0, false\nFROM", 1)
			return earlier
		case lastParameter(earlier.Text) != lastParameter(now.Of(name).Text):
			t.Errorf("%s has other arguments than that of 0.1.0", name)
		}
		return earlier
	}}, patient)
	if err != nil {
		t.Fatal(err)
	}
	return store
}

// lastParameter returns the highest number of a parameter.
func lastParameter(text string) (last int) {
	for n := range 40 {
		if strings.Contains(text, fmt.Sprint("$", n)) {
			last = n
		}
	}
	return last
}

// TestProcessesSellBesideAMigration: programs of 0.1.0 and of this version sell, restock, return and commit before, during and after a
// migration, whose first step waits for a reader. Nothing is refused, and every unit adds up.
func TestProcessesSellBesideAMigration(t *testing.T) {
	busytest.Slow(t)
	t.Parallel()
	url := database(t)
	base(t, url)
	grow(t, url, 300, 50)
	old := earlier(t.Context(), t, url)
	const sku = "sku-7"
	var stop atomic.Bool
	var sold, moved atomic.Int64
	var sellers sync.WaitGroup
	sell := func(name string, store stock.Store) {
		sellers.Go(func() {
			for n := 0; !stop.Load() || n < 5; n++ {
				id := fmt.Sprint(name, "-", n)
				if err := sellOne(t.Context(), store, sku, id, dayAt.Add(time.Duration(n)*time.Second)); err != nil {
					t.Errorf("%s: %v", id, err)
					return
				}
				sold.Add(1)
				moved.Add(4)
			}
		})
	}
	sell("old", old)
	sell("old too", old)
	reader := connect(t, url)
	defer reader.Close(t.Context())
	if _, err := reader.Exec(t.Context(), `BEGIN; SELECT FROM skus LIMIT 0`); err != nil {
		t.Fatal(err)
	}
	m, err := migrations.OpenPostgres(url)
	if err != nil {
		t.Fatal(err)
	}
	migrated, waits := make(chan error, 1), make(chan struct{}, 1)
	m.Notice = func(n migrations.Notice) {
		if n.Waits != "" {
			select {
			case waits <- struct{}{}:
			default:
			}
		}
	}
	go func() { migrated <- errors.Join(m.Up(t.Context()), m.Close()) }()
	busytest.Receive(t, "the migration waits for the reader", waits)
	before := sold.Load()
	busytest.Soon(t, "orders are taken while it waits", func() bool { return sold.Load() > before+2 })
	if _, err := reader.Exec(t.Context(), `COMMIT`); err != nil {
		t.Fatal(err)
	}
	if err := busytest.Receive(t, "the end of the migration", migrated); err != nil {
		t.Fatal(err)
	}
	store, err := postgres.Open(t.Context(), url, 4, patient)
	if err != nil {
		t.Fatal(err)
	}
	sell("new", store)
	sell("new too", store)
	before = sold.Load()
	busytest.Soon(t, "both sell", func() bool { return sold.Load() > before+8 })
	stop.Store(true)
	sellers.Wait()
	status, err := store.Status(t.Context(), sku, dayAt)
	if want := 50 + moved.Load(); err != nil || status.Stock != want || status.Committed != sold.Load() {
		t.Errorf("%+v, %v; want %d put in and %d sold", status, err, want, sold.Load())
	}
	audit, err := store.Audit(t.Context(), "", nil)
	if err != nil || !audit.OK() {
		t.Errorf("%+v, %v", audit, err)
	}
	if err := errors.Join(store.Close(), old.Close()); err != nil {
		t.Error(err)
	}
}

// sellOne restocks five units and takes one away again, sells three, of which two come back: one is sold for good.
func sellOne(ctx context.Context, store stock.Store, sku, id string, at time.Time) error {
	for ref, units := range map[string]int64{"in": 5, "out": -1} {
		m := stock.Movement{SKU: sku, Ref: id + ref, Kind: stock.Restocked, Quantity: units, At: at}
		if units < 0 {
			m.Kind = stock.Adjusted
		}
		if _, err := store.Move(ctx, m); err != nil {
			return fmt.Errorf("move %s: %w", ref, err)
		}
	}
	views, err := store.Views(ctx, sku)
	if err != nil {
		return err
	}
	batch := stock.Batch{SKU: sku, Layout: views[sku].Layout, At: at, Orders: []stock.Order{
		{OrderID: id + "paid", Quantity: 1, ReserveFor: time.Hour},
		{OrderID: id + "cancelled", Quantity: 1, ReserveFor: time.Hour},
		{OrderID: id + "returned", Quantity: 1},
	}}
	result, err := store.Deduct(ctx, batch)
	if err != nil {
		return err
	}
	for _, o := range result.Outcomes {
		if o.Kind != stock.Accepted {
			return fmt.Errorf("not accepted: %+v", o)
		}
	}
	settled, err := store.Settle(ctx, stock.Settlement{SKU: sku, At: at.Add(time.Second), Requests: []stock.SettleRequest{
		{OrderID: id + "paid"}, {OrderID: id + "cancelled", Verb: stock.Cancel}, {OrderID: id + "returned", Verb: stock.Return},
	}})
	for _, s := range settled {
		err = errors.Join(err, s.Err)
	}
	return err
}

// TestMarksAgreeWithCounts: 0.1.0 left deductions that it counted without a mark, and marks of deductions that it no longer counted.
func TestMarksAgreeWithCounts(t *testing.T) {
	t.Parallel()
	url := database(t)
	base(t, url)
	grow(t, url, 3, 0)
	const orders = `INSERT INTO deductions (sku_id, order_id, buyer_id, quantity, segment, status, created_at, limited)
		SELECT $1, 'o ' || n, CASE WHEN n %% 7 > 0 THEN 'b' END, 1, 0, CASE WHEN n %% 5 = 0 THEN 'returned' ELSE 'committed' END, now(), %s
		FROM generate_series(1, 1000) n`
	conn := connect(t, url)
	defer conn.Close(t.Context())
	for sku, marked := range map[string]string{"sku-1": "nullif(n < 10 AND n % 7 > 0, false)", "sku-2": "nullif(n < 700 AND n % 7 > 0, false)", "sku-3": "NULL"} {
		if _, err := conn.Exec(t.Context(), fmt.Sprintf(orders, marked), sku); err != nil {
			t.Fatal(err)
		}
	}
	execute(t, url, `UPDATE skus SET per_buyer_limit = 9 WHERE sku_id = 'sku-1'`,
		`INSERT INTO movements (sku_id, ref, kind, quantity, terms, reason, created_at) VALUES ('sku-2', 'r', 'terms', 0, '{"per_buyer_limit":null}', '', now())`)
	if _, err := migrate(t.Context(), url); err != nil {
		t.Fatal(err)
	}
	var wrong int
	err := conn.QueryRow(t.Context(), `SELECT count(*) FROM deductions
		WHERE status = 'committed' AND coalesce(limited, false) <> (sku_id = 'sku-1' AND buyer_id IS NOT NULL)`).Scan(&wrong)
	if err != nil || wrong != 0 {
		t.Errorf("%d deductions are marked wrongly: %v", wrong, err)
	}
}
