//go:build citus

package migrations_test

import (
	"context"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"inventory/internal/servertest"
	"inventory/migrations"
)

// TestCitusDistribute distributes a database that has sold: its rows stay, and are in shards. A dry run changes nothing, and
// neither does a second run.
func TestCitusDistribute(t *testing.T) {
	c, err := servertest.StartCitus(t.Context(), 2)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Stop(); err != nil {
			t.Error(err)
		}
	})
	url, _, err := c.CreateDatabase(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	m, err := migrations.OpenPostgres(url)
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Up(t.Context()); err != nil {
		t.Fatal(err)
	}
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.WithoutCancel(t.Context()))
	_, err = conn.Exec(t.Context(), `
		INSERT INTO skus (sku_id, name, initial, segments, created_at) SELECT 's' || n, '', 10, 1, now() FROM generate_series(1, 9) n;
		INSERT INTO stock_segments (sku_id, segment, available) SELECT sku_id, 0, 9 FROM skus;
		INSERT INTO deductions (sku_id, order_id, quantity, segment, status, created_at) SELECT sku_id, 'o', 1, 0, 'committed', now() FROM skus;
		INSERT INTO orders (order_id, created_at) VALUES ('o', now());
		INSERT INTO order_lines (order_id, sku_id, quantity) SELECT 'o', sku_id, 1 FROM skus`)
	if err != nil {
		t.Fatal(err)
	}
	want := 2 + len(migrations.Tables()) + 2 // two functions, the tables, the versions of the schema, and the outbox
	for _, run := range []struct{ dry, done bool }{{true, false}, {false, true}, {true, true}, {false, true}} {
		steps, err := migrations.Distribute(t.Context(), url, 4, run.dry)
		if err != nil || len(steps) != want {
			t.Fatalf("%d steps, %v, want %d", len(steps), err, want)
		}
		for _, step := range steps {
			propagated := strings.HasPrefix(step.What, "the function inventory_require") // newer versions of Citus do so as it is created
			if step.Done != run.done && !propagated {
				t.Errorf("dry %v: %s: done is %v, want %v", run.dry, step.What, step.Done, run.done)
			}
		}
	}
	var skus, lines, shards int
	err = conn.QueryRow(t.Context(), `SELECT (SELECT count(*) FROM skus), (SELECT count(*) FROM order_lines),
		(SELECT count(*) FROM pg_dist_shard WHERE logicalrelid = 'deductions'::regclass)`).Scan(&skus, &lines, &shards)
	if err != nil || skus != 9 || lines != 9 || shards != 4 {
		t.Errorf("%d SKUs, %d lines, %d shards, %v", skus, lines, shards, err)
	}
	if err := m.Up(t.Context()); err != nil { // the migrations are the same on all nodes
		t.Error(err)
	}
	if err := m.Close(); err != nil {
		t.Error(err)
	}
}
