package migrations_test

import (
	"embed"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// The statements of the first version of the PostgreSQL store, as it sent them. They are never edited: a program of that
// version may run beside one of this version, on a schema with all migrations.
//
//go:embed testdata/first/*.sql
var firstStatements embed.FS

// older is a program of the first version, as the database sees it.
type older struct {
	t    *testing.T
	conn *pgx.Conn
}

func (o older) text(name string) string {
	o.t.Helper()
	text, err := firstStatements.ReadFile("testdata/first/" + name + ".sql")
	if err != nil {
		o.t.Fatal(err)
	}
	return string(text)
}

// do runs a statement and compares its rows with want; nil takes any answer.
func (o older) do(name string, want []string, args ...any) {
	o.t.Helper()
	rows, err := o.conn.Query(o.t.Context(), o.text(name), args...)
	if err != nil {
		o.t.Fatalf("%s: %v", name, err)
	}
	got, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (string, error) {
		values, err := row.Values()
		return strings.TrimSuffix(fmt.Sprintln(values...), "\n"), err
	})
	if err != nil {
		o.t.Fatalf("%s: %v", name, err)
	}
	if want != nil && !slices.Equal(got, want) {
		o.t.Errorf("%s answers %q, want %q", name, got, want)
	}
}

// TestTheFirstVersionWorksOnThisSchema does everything that the first version did: create, deduct whole and in part, merge,
// restock, read, find sold out, audit.
func TestTheFirstVersionWorksOnThisSchema(t *testing.T) {
	t.Parallel()
	url := database(t)
	if _, err := migrate(t.Context(), url); err != nil {
		t.Fatal(err)
	}
	o := older{t, connect(t, url)}
	defer o.conn.Close(t.Context())
	at := time.Date(2024, 2, 3, 4, 5, 6, 0, time.UTC)

	o.do("insert_sku", nil, "old", "an old one", 100, 4, at)
	o.do("insert_segments", nil, "old", []int64{25, 25, 25, 25})
	o.do("select_status", []string{"an old one 100 [25 25 25 25]"}, "old")

	// A batch, the same again with another order, one with an old token, and one that does not fit.
	batch := func(token int64, ids []string, quantities []int32, units int64, want string) {
		t.Helper()
		o.do("deduct", []string{want}, "old", 0, token, "me", ids, make([]string, len(ids)), quantities, units, at)
	}
	batch(7, []string{"a", "b"}, []int32{2, 3}, 5, "25 2 20 <nil>")
	batch(7, []string{"b", "c"}, []int32{3, 4}, 7, "20 1 16 [c]")
	batch(6, []string{"late"}, []int32{1}, 1, "<nil> 0 <nil> <nil>")
	batch(0, []string{"large"}, []int32{17}, 17, "16 0 <nil> <nil>")

	// The same order by order, under the row's lock.
	o.do("lock_segment", []string{"16 7 me"}, "old", 0)
	o.do("insert_deductions", []string{"d"}, "old", 0, []string{"c", "d"}, []string{"", "ann"}, []int32{4, 1}, at)
	o.do("take_from_segment", []string{"15"}, "old", 0, 1, 7, "me")
	o.do("select_deductions", []string{"c  4 committed", "d ann 1 committed"}, "old", []string{"c", "d", "none"})

	// A merge of 60 units out of three segments.
	o.do("lock_segments", []string{"15 7 me", "25 0 ", "25 0 ", "25 0 "}, "old")
	o.do("insert_merged", nil, "old", []string{"m"}, []string{""}, []int32{60}, []int32{-1}, at)
	o.do("insert_parts", nil, "old", []string{"m", "m", "m"}, []int32{1, 2, 3}, []int32{25, 25, 10})
	o.do("change_segments", nil, "old", []int32{1, 2, 3}, []int64{-25, -25, -10}, []int64{1, 2, 0}, []string{"me", "me", ""})
	o.do("select_deduction", []string{" 60 committed 1 25", " 60 committed 2 25", " 60 committed 3 10"}, "old", "m")

	o.do("insert_restock", nil, "old", "van", 8, "delivery", at)
	o.do("add_to_segments", nil, "old", []int64{2, 2, 2, 2})
	o.do("select_status", []string{"an old one 108 [17 2 2 17]"}, "old")
	o.do("select_versions", []string{"[4 2 2 2] false"}, "old")
	o.do("change_segments", nil, "old", []int32{0, 1, 2, 3}, []int64{-17, -2, -2, -17}, []int64{0, 0, 0, 0}, []string{"", "", "", ""})
	o.do("insert_merged", nil, "old", []string{"rest"}, []string{""}, []int32{38}, []int32{-1}, at)
	o.do("insert_parts", nil, "old", []string{"rest", "rest", "rest", "rest"}, []int32{0, 1, 2, 3}, []int32{17, 2, 2, 17})
	o.do("select_versions", []string{"[5 3 3 3] true"}, "old")
	o.do("select_accepted", []string{"a", "b", "c", "d", "m", "rest"}, "old", 10)
	o.do("audit", []string{"old 100 8 0 0 0 108 2 0 0 0"})
}
