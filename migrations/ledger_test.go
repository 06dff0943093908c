package migrations_test

import (
	"database/sql"
	"path/filepath"
	"testing"

	"inventory/migrations"
)

// TestTheLedgerGoesDownAndUp: changes of terms stay in the ledger, and what is new is held to what the schema allows.
func TestTheLedgerGoesDownAndUp(t *testing.T) {
	t.Parallel()
	url, file := database(t), filepath.Join(t.TempDir(), "inventory.db")
	for driver, open := range map[string]func() (*migrations.Migrator, error){
		"pgx":    func() (*migrations.Migrator, error) { return migrations.OpenPostgres(url) },
		"sqlite": func() (*migrations.Migrator, error) { return migrations.OpenSQLite(file) },
	} {
		t.Run(driver, func(t *testing.T) {
			t.Parallel()
			l := ledger{t: t, open: open}
			l.up()
			db, err := sql.Open(driver, map[string]string{"pgx": url, "sqlite": file}[driver])
			if err != nil {
				t.Fatal(err)
			}
			defer func() {
				if err := db.Close(); err != nil {
					t.Error(err)
				}
			}()
			l.db, l.at = db, map[string]string{"pgx": "now()", "sqlite": "1"}[driver]
			l.do("INSERT INTO skus (sku_id, name, initial, segments, created_at) VALUES ('a', '', 1, 1, " + l.at + ")")
			l.do(l.row("1", "restock", "2", "NULL"))
			l.do(l.row("2", "adjust", "-1", "NULL"))
			l.do(l.row("3", "resegment", "0", "3"))
			l.do(l.row("4", "terms", "0", "NULL"))
			for range 2 {
				undo(t, l.migrator(), "ledger_terms")
				l.refuses()
				l.has(4)
				l.up()
				l.refuses()
				l.has(4)
			}
		})
	}
}

// ledger is the ledger of a database.
type ledger struct {
	t    *testing.T
	open func() (*migrations.Migrator, error)
	db   *sql.DB
	at   string // an instant
}

func (l ledger) migrator() *migrations.Migrator {
	l.t.Helper()
	m, err := l.open()
	if err != nil {
		l.t.Fatal(err)
	}
	return m
}

func (l ledger) up() {
	l.t.Helper()
	m := l.migrator()
	if err := m.Up(l.t.Context()); err != nil {
		l.t.Error(err)
	}
	if err := m.Close(); err != nil {
		l.t.Error(err)
	}
}

func (l ledger) do(statement string) {
	l.t.Helper()
	if _, err := l.db.ExecContext(l.t.Context(), statement); err != nil {
		l.t.Fatalf("%s: %v", statement, err)
	}
}

// row inserts a row.
func (l ledger) row(ref, kind, quantity, segments string) string {
	return "INSERT INTO movements (sku_id, ref, kind, quantity, segments, reason, created_at) VALUES ('a', '" + ref + "', '" + kind +
		"', " + quantity + ", " + segments + ", '', " + l.at + ")"
}

// refuses tries rows that no schema allows.
func (l ledger) refuses() {
	l.t.Helper()
	for _, wrong := range []string{
		l.row("5", "sale", "1", "NULL"), l.row("5", "adjust", "0", "NULL"), l.row("5", "resegment", "1", "3"), l.row("5", "terms", "1", "NULL"),
	} {
		if _, err := l.db.ExecContext(l.t.Context(), wrong); err == nil {
			l.t.Errorf("it took %s", wrong)
		}
	}
}

func (l ledger) has(want int) {
	l.t.Helper()
	var rows int
	if err := l.db.QueryRowContext(l.t.Context(), "SELECT count(*) FROM movements WHERE sku_id = 'a'").Scan(&rows); err != nil || rows != want {
		l.t.Errorf("%d rows, %v; want %d", rows, err, want)
	}
}
