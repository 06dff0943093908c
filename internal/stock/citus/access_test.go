package citus

import (
	"context"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"inventory/internal/servertest"
	"inventory/migrations"
)

// onShards are the tables that a shard has.
var onShards = map[string]string{
	"skus": "skus_1", "stock_segments": "stock_segments_2", "deductions": "deductions_3", "deduction_parts": "deduction_parts_4",
	"amendments": "amendments_5", "movements": "movements_6", "buyers": "buyers_7", "pruned": "pruned_8", "orders": "orders_9",
	"order_lines": "order_lines_10",
}

// TestStatementsHaveTheNamesOfTheShard: after each word that a table follows, no statement has another table of ours.
func TestStatementsHaveTheNamesOfTheShard(t *testing.T) {
	all := statements(shardFile)
	access := placed{id: 7, tables: onShards}.access(all)
	table := regexp.MustCompile(`\b(FROM|JOIN|INTO|UPDATE|,)\s+(` + strings.Join(slices.Collect(maps.Keys(onShards)), "|") + `)\b`)
	renamed := 0
	for name := range all {
		text := access.SQL(name).Text
		if found := table.FindString(text); found != "" && !strings.HasPrefix(found, ",") { // a column may follow a comma
			t.Errorf("%s has %q", name, found)
		}
		if text != all.Of(name).Text {
			renamed++
		}
	}
	if renamed < 40 {
		t.Errorf("%d statements have other names, want most of %d", renamed, len(all))
	}
	if want := `SELECT inventory_here(7)`; access.Lock != want {
		t.Errorf("lock %q, want %q", access.Lock, want)
	}
}

// TestStatementsAreValid: PostgreSQL takes each statement as it stands, but those of Citus' own tables.
func TestStatementsAreValid(t *testing.T) {
	server, err := servertest.StartPostgres(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Stop(); err != nil {
			t.Error(err)
		}
	})
	m, err := migrations.OpenPostgres(server.URL())
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Up(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	conn, err := pgx.Connect(t.Context(), server.URL())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.WithoutCancel(t.Context()))
	all := statements(coordinatorFile)
	delete(all, "placements")
	delete(all, "nodes")
	delete(all, "outbox_status")
	for name, s := range all {
		if _, err := conn.Prepare(t.Context(), name, s.Text); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, s := range statements(shardFile) {
		if all[name] == s || name == "placements" || name == "nodes" || name == "outbox_status" {
			continue
		}
		if _, err := conn.Prepare(t.Context(), "shard "+name, s.Text); err != nil {
			t.Errorf("%s of a shard: %v", name, err)
		}
	}
}
