package sqlite_test

import (
	"context"
	"database/sql"
	"errors"
	"testing"

	"inventory/internal/stock"
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

// TestOutboxRefusesACursorFromElsewhere: its reader would miss what comes until the numbers have reached it, and a trim
// would remove all.
func TestOutboxRefusesACursorFromElsewhere(t *testing.T) {
	outbox := openFile(t, stocktest.SQLiteFile(t)).Outbox()
	for cursor, want := range map[string]error{"": nil, "1": stock.BadCursor("1")} {
		_, err := outbox.Read(t.Context(), cursor, 1)
		_, trim := outbox.Trim(t.Context(), cursor)
		if !errors.Is(err, want) || !errors.Is(trim, want) {
			t.Errorf("%q: read %v, trim %v", cursor, err, trim)
		}
	}
}
