package tables_test

import (
	"strings"
	"testing"
	"testing/fstest"

	"inventory/internal/stock/tables"
)

func read(t *testing.T, file string) (all tables.Set, refused string) {
	t.Helper()
	defer func() {
		if why := recover(); why != nil {
			refused, _ = why.(string)
		}
	}()
	return tables.ReadSQL(fstest.MapFS{"one.sql": {Data: []byte(file)}}), ""
}

func TestParametersAreNumberedAsCommentsNameThem(t *testing.T) {
	t.Parallel()
	for file, want := range map[string]string{
		"-- In: @b the second column, @a\n--\n-- It writes @b twice.\nSELECT @a, @b, @b;\n": "SELECT $2, $1, $1",
		"-- name: one\n-- In: @sku_ids\nSELECT @sku_ids::text[] -- all of them\n":           "SELECT $1::text[] -- all of them",
		"-- In: @top\n\n-- name: one\n-- In: @own\nSELECT @own, @top;\n":                    "SELECT $2, $1",
		"-- name: one\nSELECT 1;\n":                 "SELECT 1",
		"-- In: @a, @a1\nSELECT @a1;\nSELECT @a;\n": "SELECT $2;\nSELECT $1",
		"-- piece: a\nSELECT 1,\n\n-- piece: b\n-- include a\n2\n-- name: one\n-- include b\n;\n":             "SELECT 1,\n2",
		"-- In: @a\n-- piece: asked\nasked AS (SELECT @a)\n-- name: one\nWITH\n-- include asked\nSELECT 1;\n": "WITH\nasked AS (SELECT $1)\nSELECT 1",
	} {
		all, refused := read(t, file)
		if refused != "" || all["one"].Text != want || len(all) != 1 {
			t.Errorf("%q is read as %+v (%s), want %q", file, all, refused, want)
		}
	}
}

func TestMistakesInFilesOfStatementsAreTold(t *testing.T) {
	t.Parallel()
	for file, want := range map[string]string{
		"-- In: @a\nSELECT @a, @b;\n":                                  "[@a @b]",
		"-- In: @a, @b\nSELECT @a;\n":                                  "[@a @b]",
		"-- In: @a\nSELECT @a, $2;\n":                                  "numbers besides: [$2]",
		"-- name: one\nSELECT 1;\n-- name: one\nSELECT 2;\n":           "two statements",
		"-- piece: a\n1\n-- piece: a\n2\n-- name: one\n-- include a\n": "two pieces",
		"-- piece: a\n1\n-- name: one\nSELECT 1;\n":                    "no statement of one.sql includes",
		"-- name: one\n-- include asked\nSELECT 1;\n":                  "does not come before it",
	} {
		if all, refused := read(t, file); !strings.Contains(refused, want) {
			t.Errorf("%q is read as %v, refused with %q, want one with %q", file, all, refused, want)
		}
	}
}
