package tables_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"inventory/internal/stock"
	"inventory/internal/stock/tables"
)

// rows is a querier that has some rows for every query, each of texts.
type rows [][]string

func (r rows) Each(_ context.Context, read func(tables.Row) error, _ string, _ ...any) error {
	for _, texts := range r {
		if err := read(row(texts)); err != nil {
			return err
		}
	}
	return nil
}

type row []string

func (r row) Scan(into ...any) error {
	if len(into) != len(r) {
		return errors.New("another number of columns")
	}
	for i, text := range r {
		*into[i].(*string) = text
	}
	return nil
}

// A column that a query always has must not read as zero if it is missing.
func TestMissingColumnIsNotZero(t *testing.T) {
	ctx, none := t.Context(), rows(nil)
	for what, read := range map[string]func() error{
		"a row": func() error { return tables.Single(ctx, none, nil, "") },
		"the movement of a ref that is there": func() error {
			return tables.SameMovement(ctx, none, stock.Movement{})
		},
		"a SKU that is there":          func() error { return tables.CheckReplay(ctx, none, stock.NewSKU{}) },
		"the terms of a SKU":           func() error { return tables.ChangeTerms(ctx, none, &tables.Statements{}, stock.Movement{}) },
		"a row that cannot be scanned": func() error { return tables.Single(ctx, rows{{"a", "b"}}, nil, "") },
	} {
		if err := read(); err == nil {
			t.Errorf("%s is missing, and there is no error", what)
		}
	}
	if err := tables.Single(ctx, none, nil, ""); !errors.Is(err, tables.ErrNoRow) {
		t.Errorf("%v, want %v", err, tables.ErrNoRow)
	}
	var text string
	if err := tables.Single(ctx, rows{{"a"}}, []any{&text}, ""); err != nil || text != "a" {
		t.Errorf("got %q, %v, want \"a\"", text, err)
	}
}

func TestRowsThatMayBeMissing(t *testing.T) {
	ctx := t.Context()
	var text string
	for n, q := range []rows{nil, {{"a"}}} {
		if found, err := tables.One(ctx, q, []any{&text}, ""); err != nil || found != (n > 0) {
			t.Errorf("%d rows: %t, %v", n, found, err)
		}
	}
	all, err := tables.All(ctx, rows{{"a"}, {"b"}}, tables.Value[string], "")
	if err != nil || !slices.Equal(all, []string{"a", "b"}) {
		t.Errorf("%q, %v", all, err)
	}
	found := make(map[string]string)
	if err := (rows{{"a", "1"}, {"b", "2"}}).Each(ctx, tables.Into(found), ""); err != nil || found["a"]+found["b"] != "12" {
		t.Errorf("%q, %v", found, err)
	}
	if err := tables.SKUExists(ctx, rows(nil), "shoe"); stock.CodeOf(err) != stock.CodeUnknownSKU {
		t.Errorf("got %v, want %s", err, stock.CodeUnknownSKU)
	}
}

// A column is scanned into the same place for each row: a null must not leave the previous row's value there.
func TestTimesAndDurations(t *testing.T) {
	at := time.Date(2026, 11, 24, 12, 0, 0, 1000, time.UTC)
	var found tables.Time
	for _, c := range []struct {
		column any
		want   time.Time
	}{{at.In(time.FixedZone("east", 3600)), at}, {nil, time.Time{}}, {at.UnixMicro(), at}, {nil, time.Time{}}} {
		if err := found.Scan(c.column); err != nil || time.Time(found) != c.want {
			t.Errorf("%v: %v, %v, want %v", c.column, time.Time(found), err, c.want)
		}
	}
	var took tables.Micros
	for _, c := range []struct {
		column any
		want   time.Duration
	}{{int64(1500), 1500 * time.Microsecond}, {nil, 0}} {
		if err := took.Scan(c.column); err != nil || time.Duration(took) != c.want {
			t.Errorf("%v: %v, %v, want %v", c.column, time.Duration(took), err, c.want)
		}
	}
	for _, err := range []error{found.Scan("12:00"), took.Scan(1.5)} {
		if err == nil || !strings.Contains(err.Error(), "it is a ") {
			t.Errorf("a column of another type: %v", err)
		}
	}
}

// TestScannedFindsNoRowThatCannotBeRead: the context may end between two rows of a query, and then the columns are empty.
func TestScannedFindsNoRowThatCannotBeRead(t *testing.T) {
	t.Parallel()
	var text string
	var found []string
	read := tables.Scanned(func() { found = append(found, text) }, &text)
	if err := read(row{"a"}); err != nil || !slices.Equal(found, []string{"a"}) {
		t.Errorf("found %q, %v, want a", found, err)
	}
	if err := read(row{}); err == nil || len(found) != 1 {
		t.Errorf("found %q, %v, want an error and nothing more", found, err)
	}
}
