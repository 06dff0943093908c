package sqlite_test

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"inventory/internal/busytest"
	"inventory/internal/stock"
	"inventory/internal/stock/sqlite"
	"inventory/internal/stock/stocktest"
)

func TestMain(m *testing.M) { busytest.Main(m) }

// TestStore writes alone, and in shared transactions as soon as it can be. The way of production is one of the two unless writes meet.
func TestStore(t *testing.T) {
	type way struct {
		sharing sqlite.Sharing
		cases   []stocktest.Case
	}
	ways := map[string]way{
		"alone":      {sqlite.ShareNothing, slices.Concat(stocktest.Cases(), stocktest.ForgetCases())},
		"sharing":    {sqlite.ShareWaiting, slices.Concat(stocktest.RacingCases(), stocktest.LateCases())},
		"all shared": {sqlite.ShareAll, slices.Concat(stocktest.Cases(), stocktest.ForgetCases())},
	}
	if testing.Short() {
		ways = map[string]way{"all shared": {sqlite.ShareAll, slices.Concat(stocktest.CalmCases(), stocktest.ForgetCases())}}
	}
	for name, way := range ways {
		t.Run(name, func(t *testing.T) { conform(t, way.sharing, way.cases) })
	}
}

// TestGroups is TestStore for buyer limits that count over several SKUs.
func TestGroups(t *testing.T) {
	for name, sharing := range map[string]sqlite.Sharing{"alone": sqlite.ShareNothing, "all shared": sqlite.ShareAll} {
		t.Run(name, func(t *testing.T) { conform(t, sharing, stocktest.GroupCases()) })
	}
}

// conform runs cases of the suite.
func conform(t *testing.T, sharing sqlite.Sharing, cases []stocktest.Case) {
	stocktest.Run(t, func(t *testing.T) stocktest.Bench {
		file := stocktest.SQLiteFile(t)
		store := openFile(t, file)
		store.Share(sharing)
		beside, err := sql.Open("sqlite", file+"?_pragma=foreign_keys(ON)&_pragma=busy_timeout(120000)")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := beside.Close(); err != nil {
				t.Error(err)
			}
		})
		return stocktest.Bench{Store: store, Exec: func(ctx context.Context, statement string) error {
			_, err := beside.ExecContext(ctx, statement)
			return err
		}, Hold: func(ctx context.Context) (release func() error, err error) { return hold(ctx, beside) }, Dump: func(ctx context.Context) ([]string, error) {
			return dump(ctx, beside)
		}}
	}, cases...)
}

// openFile opens a file until the test is over.
func openFile(t testing.TB, file string) *sqlite.Store {
	t.Helper()
	store, err := sqlite.Open(t.Context(), file)
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

// dump returns every row of every table, each value between blanks.
func dump(ctx context.Context, db *sql.DB) (all []string, err error) {
	names, err := textsOf(ctx, db, `SELECT name FROM sqlite_schema WHERE type = 'table'`)
	for _, name := range names {
		columns, err := textsOf(ctx, db, `SELECT 'coalesce("' || name || '", '''')' FROM pragma_table_info(?)`, name)
		if err != nil {
			return nil, err
		}
		some, err := textsOf(ctx, db, `SELECT ' ' || `+strings.Join(columns, " || ' ' || ")+` || ' ' FROM "`+name+`"`)
		if err != nil {
			return nil, err
		}
		all = append(all, some...)
	}
	return all, err
}

// textsOf reads a column.
func textsOf(ctx context.Context, db *sql.DB, query string, args ...any) (all []string, err error) {
	rows, err := db.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var text string
		if err := rows.Scan(&text); err != nil {
			return nil, err
		}
		all = append(all, text)
	}
	return all, rows.Err()
}

// hold takes a file for itself, until it is released.
func hold(ctx context.Context, db *sql.DB) (release func() error, err error) {
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	if _, err := conn.ExecContext(ctx, "BEGIN IMMEDIATE"); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return func() error {
		_, err := conn.ExecContext(ctx, "ROLLBACK")
		return errors.Join(err, conn.Close())
	}, nil
}

func TestFileBelongsToOneProcess(t *testing.T) {
	file := filepath.Join(t.TempDir(), "inventory.db")
	first, err := sqlite.LockFile(file)
	if err != nil {
		t.Fatal(err)
	}
	other := filepath.Join(t.TempDir(), "other.db")
	if err := os.Symlink(file, other); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{file, other} {
		if _, err := sqlite.LockFile(name); !errors.Is(err, sqlite.ErrFileInUse) {
			t.Fatalf("a second lock of the file as %s: %v, want %v", name, err, sqlite.ErrFileInUse)
		}
	}
	if err := first.Unlock(); err != nil {
		t.Fatal(err)
	}
	again, err := sqlite.LockFile(file)
	if err != nil {
		t.Fatalf("after unlock: %v", err)
	}
	if err := again.Unlock(); err != nil {
		t.Fatal(err)
	}
}

// TestALinkToNoFileYetBelongsToOneProcess: the process that starts first may create the file through a link.
func TestALinkToNoFileYetBelongsToOneProcess(t *testing.T) {
	folder := t.TempDir()
	file, link := filepath.Join(folder, "inventory.db"), filepath.Join(folder, "link.db")
	if err := os.Symlink("inventory.db", link); err != nil {
		t.Fatal(err)
	}
	first, err := sqlite.LockFile(link)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := sqlite.LockFile(file); !errors.Is(err, sqlite.ErrFileInUse) {
		t.Errorf("a second lock of the file by its own name: %v, want %v", err, sqlite.ErrFileInUse)
	}
	if err := first.Unlock(); err != nil {
		t.Fatal(err)
	}
}

// TestAFileOfTwoNamesIsRefused: each name has its own log, and a process that writes under one name loses the writes
// under the other.
func TestAFileOfTwoNamesIsRefused(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "inventory.db")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := sqlite.CheckFile(file); err != nil {
		t.Error(err)
	}
	if err := os.Link(file, file+"-copy"); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{file, file + "-copy"} {
		if _, err := sqlite.LockFile(name); err == nil || !strings.Contains(err.Error(), "hard link") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestReaderDoesNotWrite(t *testing.T) {
	file := stocktest.SQLiteFile(t)
	reader, err := sqlite.OpenReader(t.Context(), file)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := reader.Close(); err != nil {
			t.Error(err)
		}
	})
	if audit, err := reader.Audit(t.Context(), "", nil); err != nil || !audit.OK() {
		t.Fatalf("audit: got %+v, %v, want no difference and no violation", audit, err)
	}
	if _, err := reader.CreateSKU(t.Context(), stock.NewSKU{SKU: "a", Segments: 1}, time.Now()); err == nil {
		t.Fatal("a reader could write")
	}
}
