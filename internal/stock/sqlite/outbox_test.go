package sqlite_test

import (
	"context"
	"database/sql"
	"testing"

	"inventory/internal/stock/sqlite"
	"inventory/internal/stock/stocktest"
)

// TestOutbox uses the outbox from outside the store, like a program that does not own the file.
func TestOutbox(t *testing.T) {
	stocktest.RunOutbox(t, func(t *testing.T) stocktest.OutboxBench {
		file := stocktest.SQLiteFile(t)
		store, beside := openFile(t, file), openFile(t, file)
		db, err := sql.Open("sqlite", sqlite.DSN(file))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := db.Close(); err != nil {
				t.Error(err)
			}
		})
		return stocktest.OutboxBench{Store: store, Outbox: beside.Outbox(), Exec: func(ctx context.Context, statement string) error {
			_, err := db.ExecContext(ctx, statement)
			return err
		}}
	})
}
