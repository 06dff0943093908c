//go:build citus

package citus_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"inventory/internal/servertest"
	"inventory/internal/stock"
	"inventory/internal/stock/citus"
	"inventory/internal/stock/stocktest"
	"inventory/migrations"
)

const testShards = 4

// cluster starts a cluster that ends with the test.
func cluster(t *testing.T, workers int) *servertest.Citus {
	t.Helper()
	c, err := servertest.StartCitus(t.Context(), workers)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Stop(); err != nil {
			t.Error(err)
		}
	})
	return c
}

// distributed creates a database with the schema, distributed over the nodes.
func distributed(t *testing.T, c *servertest.Citus) string {
	t.Helper()
	url, _, err := c.CreateDatabase(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	m, err := migrations.OpenPostgres(url)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(m.Up(t.Context()), m.Close()); err != nil {
		t.Fatal(err)
	}
	if _, err := migrations.Distribute(t.Context(), url, testShards, false); err != nil {
		t.Fatal(err)
	}
	return url
}

// exec runs a statement at the coordinator.
func exec(ctx context.Context, url, statement string) error {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	_, err = conn.Exec(ctx, statement, pgx.QueryExecModeSimpleProtocol)
	return err
}

func open(t *testing.T, url string) *citus.Store {
	t.Helper()
	store, err := citus.Open(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	return store
}

// databases lends an emptied database to each case, because creating one takes seconds.
type databases struct {
	free chan string
}

func (d *databases) lend(t *testing.T) string {
	t.Helper()
	url := <-d.free
	t.Cleanup(func() { d.free <- url })
	if err := exec(t.Context(), url, "TRUNCATE "+strings.Join(migrations.Tables(), ", ")); err != nil {
		t.Fatal(err)
	}
	return url
}

func lent(t *testing.T, c *servertest.Citus, most int) *databases {
	t.Helper()
	d := &databases{free: make(chan string, most)}
	for range most {
		d.free <- distributed(t, c)
	}
	return d
}

func TestStore(t *testing.T) {
	for name, workers := range map[string]int{"one node": 0, "two workers": 2} {
		t.Run(name, func(t *testing.T) {
			c := cluster(t, workers)
			d := lent(t, c, 2)
			stocktest.Run(t, func(t *testing.T) stocktest.Bench {
				url := d.lend(t)
				return stocktest.Bench{
					Store: open(t, url),
					Exec:  func(ctx context.Context, statement string) error { return exec(ctx, url, statement) },
					Hold:  func(ctx context.Context) (func() error, error) { return hold(ctx, url) },
				}
			}, stocktest.Cases()...)
		})
	}
}

// hold locks all rows of a database, until they are released.
func hold(ctx context.Context, url string) (release func() error, err error) {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return nil, err
	}
	_, err = conn.Exec(ctx, `BEGIN`)
	for _, table := range []string{"orders", "stock_segments", "deductions"} {
		if err == nil {
			_, err = conn.Exec(ctx, `UPDATE `+table+` SET `+map[string]string{"orders": "buyer_id = buyer_id", "stock_segments": "version = version", "deductions": "buyer_id = buyer_id"}[table])
		}
	}
	if err != nil {
		return nil, errors.Join(err, conn.Close(ctx))
	}
	return func() error { return conn.Close(ctx) }, nil // which rolls back
}

func TestOutbox(t *testing.T) {
	for name, workers := range map[string]int{"one node": 0, "two workers": 2} {
		t.Run(name, func(t *testing.T) {
			c := cluster(t, workers)
			stocktest.RunOutbox(t, func(t *testing.T) stocktest.OutboxBench {
				url := distributed(t, c)
				store := open(t, url)
				return stocktest.OutboxBench{
					Store: store, Outbox: store.Outbox(),
					Exec: func(ctx context.Context, statement string) error { return exec(ctx, url, statement) },
				}
			})
		})
	}
}

// TestOutboxCursorOfANodeFromElsewhere is refused, though other nodes have changes.
func TestOutboxCursorOfANodeFromElsewhere(t *testing.T) {
	url := distributed(t, cluster(t, 2))
	store := open(t, url)
	outbox := store.Outbox()
	if err := outbox.On(t.Context()); err != nil {
		t.Fatal(err)
	}
	for n := range 20 { // on both workers
		sku := fmt.Sprint(n)
		if _, err := store.CreateSKU(t.Context(), stock.NewSKU{SKU: sku, Stock: 1, Segments: 1}, time.Time{}); err != nil {
			t.Fatal(err)
		}
		if _, err := store.Deduct(t.Context(), stock.Batch{SKU: sku, Layout: 1, Orders: []stock.Order{{OrderID: "o", Quantity: 1}}}); err != nil {
			t.Fatal(err)
		}
	}
	changes, err := outbox.Read(t.Context(), "", 20)
	if err != nil || len(changes) != 20 {
		t.Fatalf("%d changes, %v, want 20", len(changes), err)
	}
	last := changes[19].Cursor
	places := strings.Split(last, ",")
	if len(places) < 2 {
		t.Fatalf("only one node has changes: %s", last)
	}
	group, _, _ := strings.Cut(places[0], ":")
	elsewhere := group + ":18446744073709551615.1"
	if changes, err := outbox.Read(t.Context(), elsewhere, 20); !errors.Is(err, stock.BadCursor(elsewhere)) {
		t.Errorf("read: %d changes, %v", len(changes), err)
	}
	bad := strings.Join(append(places[1:], elsewhere), ",")
	if removed, err := outbox.Trim(t.Context(), bad); !errors.Is(err, stock.BadCursor(bad)) || removed > 0 {
		t.Errorf("trim: %d removed, %v", removed, err)
	}
	if changes, err := outbox.Read(t.Context(), "", 20); err != nil || len(changes) != 20 {
		t.Errorf("afterwards there are %d changes, %v, want 20", len(changes), err)
	}
}

// TestCitusLeastRights: on the nodes the service needs only the rights that the handbook gives it.
func TestCitusLeastRights(t *testing.T) {
	url := distributed(t, cluster(t, 2))
	if err := exec(t.Context(), url, `CREATE ROLE inventory_service LOGIN`); err != nil {
		t.Fatal(err)
	}
	for _, grant := range []string{
		`GRANT USAGE ON SCHEMA public TO inventory_service`,
		`GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO inventory_service`,
		`SELECT run_command_on_all_nodes('GRANT SELECT, INSERT, UPDATE, DELETE ON outbox TO inventory_service')`,
		`SELECT run_command_on_all_nodes('GRANT USAGE ON SEQUENCE outbox_tie TO inventory_service')`,
	} {
		if err := exec(t.Context(), url, grant); err != nil {
			t.Fatal(err)
		}
	}
	if err := open(t, url).Outbox().On(t.Context()); err != nil {
		t.Fatal(err)
	}
	store := open(t, strings.Replace(url, "postgres@", "inventory_service@", 1))
	for _, sku := range []string{"a", "b", "c"} {
		if _, err := store.CreateSKU(t.Context(), stock.NewSKU{SKU: sku, Stock: 9, Segments: 2}, time.Time{}); err != nil {
			t.Fatal(err)
		}
	}
	result, err := store.Deduct(t.Context(), stock.Batch{SKU: "a", Layout: 1, Orders: []stock.Order{{OrderID: "o", Quantity: 1}}})
	if err != nil || result.Outcomes[0].Kind != stock.Accepted {
		t.Errorf("%+v, %v", result, err)
	}
	order := stock.MultiOrder{OrderID: "p", Lines: []stock.Line{{SKU: "a", Quantity: 1}, {SKU: "b", Quantity: 1}, {SKU: "c", Quantity: 1}}}
	if _, created, err := store.Order(t.Context(), stock.Placement{Order: order, Lines: make([]stock.PlacedLine, 3)}); created || !errors.Is(err, stock.ErrLayout) {
		t.Errorf("%v, %v", created, err)
	}
	known := stock.Batch{Layout: 1}
	if _, created, err := store.Order(t.Context(), stock.Placement{Order: order, Lines: slices.Repeat([]stock.PlacedLine{{Batch: known}}, 3)}); !created || err != nil {
		t.Errorf("created: got %v, %v, want true", created, err)
	}
	if audit, err := store.Audit(t.Context(), "", nil); err != nil || !audit.OK() || len(audit.SKUs) != 3 {
		t.Errorf("%+v, %v", audit, err)
	}
	if changes, err := store.Outbox().Read(t.Context(), "", 9); err != nil || len(changes) != 4 {
		t.Errorf("%v, %v", changes, err)
	}
}
