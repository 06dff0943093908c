package app

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"

	"inventory/internal/stock/postgres"
	"inventory/internal/stock/sqlite"
	"inventory/migrations"
)

// MigrationStatus compares the schema of a database with this program. It changes nothing, and works while a service runs.
func MigrationStatus(ctx context.Context, databaseURL string) (migrations.Status, error) {
	d, err := parseDatabase(databaseURL)
	if err != nil {
		return migrations.Status{}, err
	}
	return d.status(ctx)
}

func (d database) dialect() migrations.Dialect {
	if d.file != "" {
		return migrations.SQLite()
	}
	return migrations.Postgres()
}

func (d database) status(ctx context.Context) (status migrations.Status, err error) {
	if d.file != "" {
		if _, err := os.Stat(d.file); errors.Is(err, fs.ErrNotExist) {
			return d.dialect().None()
		}
	}
	if err := d.reachable(ctx); err != nil {
		return status, err
	}
	err = d.look(ctx, func(db *sql.DB) error {
		status, err = migrations.ReadStatus(ctx, db, d.dialect())
		return err
	})
	return status, err
}

// look opens a database for a few reads and closes it.
func (d database) look(_ context.Context, read func(*sql.DB) error) (err error) {
	var db *sql.DB
	if d.file != "" {
		if db, err = sql.Open("sqlite", sqlite.ReadOnlyDSN(d.file)); err != nil {
			return fmt.Errorf("open SQLite: %w", err)
		}
	} else {
		config, err := pgxpool.ParseConfig(d.postgresURL) // knows the pool's parameters
		if err != nil {
			return fmt.Errorf("read the PostgreSQL URL: %w", err)
		}
		postgres.Settle(config.ConnConfig)
		db = stdlib.OpenDB(*config.ConnConfig)
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	return read(db)
}

// upToDate refuses a schema that this program cannot read, and says what to do.
func (d database) upToDate(ctx context.Context) error {
	status, err := d.status(ctx)
	if err != nil {
		return err
	}
	if n := status.Pending(); n > 0 {
		return fmt.Errorf("the schema is %d steps older than this program, at version %d: run inventory migrate up, or the program of that version",
			n, status.Version)
	}
	return nil
}

// logDirty logs that a migration was started and not finished.
func logDirty(log *slog.Logger, status migrations.Status) {
	switch {
	case !status.Dirty:
	case status.Newer():
		log.Warn("a newer program began a migration and did not finish it: run its inventory migrate up", "version", status.Version)
	default:
		log.Warn("a migration was begun and not finished; it is run again", "version", status.Version)
	}
}

// logUnsafe logs settings of PostgreSQL with which it loses orders that it has acknowledged.
func (d database) logUnsafe(ctx context.Context, log *slog.Logger) error {
	if d.file != "" {
		return nil
	}
	return d.look(ctx, func(db *sql.DB) error {
		for _, setting := range []string{"synchronous_commit", "fsync", "full_page_writes"} {
			var value string
			if err := db.QueryRowContext(ctx, `SELECT current_setting($1)`, setting).Scan(&value); err != nil {
				return fmt.Errorf("read the settings of PostgreSQL: %w", err)
			}
			if value == "off" {
				log.Warn("PostgreSQL may lose orders that were accepted when it crashes: set "+setting+" to on", setting, value)
			}
		}
		return nil
	})
}
