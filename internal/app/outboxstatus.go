package app

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"inventory/internal/stock"
)

// OutboxStatus is the state of an outbox.
type OutboxStatus struct {
	On     bool
	Rows   int64
	Oldest time.Time // of the rows; zero: there are none
	Newest time.Time
}

// The queries read what the stores' outbox.sql creates, and the times of the rows in microseconds.
const (
	postgresOutboxThere = `SELECT to_regclass('outbox') IS NOT NULL`
	postgresOutbox      = `
SELECT (SELECT count(*) = 2 FROM pg_trigger WHERE tgrelid = 'deductions'::regclass
            AND tgname IN ('outbox_inserted', 'outbox_changed') AND tgenabled <> 'D'),
       count(*), (extract(epoch FROM min(at)) * 1000000)::bigint, (extract(epoch FROM max(at)) * 1000000)::bigint
FROM outbox`
	// Each node has rows of its own.
	citusOutbox = `
SELECT (SELECT count(*) = 2 FROM pg_trigger WHERE tgrelid = 'deductions'::regclass
            AND tgname IN ('outbox_inserted', 'outbox_changed') AND tgenabled <> 'D'),
       sum((CASE WHEN success THEN result::json->>0 END)::bigint), min((result::json->>1)::bigint), max((result::json->>2)::bigint)
FROM run_command_on_all_nodes($$
    SELECT json_build_array(count(*), (extract(epoch FROM min(at)) * 1000000)::bigint, (extract(epoch FROM max(at)) * 1000000)::bigint)
    FROM outbox $$)`
	sqliteOutboxThere = `SELECT count(*) > 0 FROM sqlite_schema WHERE name = 'outbox'`
	sqliteOutbox      = `
SELECT (SELECT count(*) = 2 FROM sqlite_schema WHERE type = 'trigger' AND name IN ('outbox_inserted', 'outbox_changed')),
       count(*), min(at), max(at)
FROM outbox`
)

// ReadOutboxStatus reads the state of the outbox of a database, also while a service uses it.
func ReadOutboxStatus(ctx context.Context, databaseURL string) (status OutboxStatus, err error) {
	d, err := parseDatabase(databaseURL)
	if err != nil {
		return status, err
	}
	there, query := postgresOutboxThere, postgresOutbox
	if d.citus {
		query = citusOutbox
	}
	if d.file != "" {
		there, query = sqliteOutboxThere, sqliteOutbox
		if err := d.exists(); err != nil {
			return status, err
		}
	}
	if err := d.reachable(ctx); err != nil {
		return status, err
	}
	err = d.look(ctx, func(db *sql.DB) error {
		var hasTable bool
		var oldest, newest sql.NullInt64
		err := db.QueryRowContext(ctx, there).Scan(&hasTable)
		if err == nil && !hasTable {
			return stock.ErrNoOutbox
		}
		err = errors.Join(err, db.QueryRowContext(ctx, query).Scan(&status.On, &status.Rows, &oldest, &newest))
		if err != nil {
			return fmt.Errorf("read the outbox: %w", err)
		}
		if oldest.Valid {
			status.Oldest, status.Newest = time.UnixMicro(oldest.Int64).UTC(), time.UnixMicro(newest.Int64).UTC()
		}
		return nil
	})
	return status, err
}
