package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"strings"

	"github.com/jackc/pgx/v5/pgxpool"

	"inventory/internal/stock"
	"inventory/internal/stock/citus"
	"inventory/internal/stock/postgres"
	"inventory/internal/stock/sqlite"
	"inventory/migrations"
)

// database is the store that a URL names.
type database struct {
	postgresURL string
	directURL   string                  // of the same, past a pooler; "": there is none
	citus       bool                    // postgresURL names a coordinator
	file        string                  // of SQLite
	configure   []func(*pgxpool.Config) // change what the URL says
}

// parseDatabases also takes the URL that leads to the same database past a pooler; "" is none.
func parseDatabases(databaseURL, directURL string) (database, error) {
	d, err := parseDatabase(databaseURL)
	if err != nil || directURL == "" {
		return d, err
	}
	direct, err := parseDatabase(directURL)
	if err != nil {
		return database{}, ConfigError{fmt.Errorf("of the direct URL: %w", err)}
	}
	if d.file != "" || direct.file != "" || d.citus || direct.citus {
		return database{}, ConfigError{errors.New("a direct URL: needs PostgreSQL, and not Citus")}
	}
	d.directURL = direct.postgresURL
	return d, nil
}

func parseDatabase(databaseURL string) (database, error) {
	if databaseURL == "" {
		databaseURL = defaultDatabaseURL
	}
	scheme, rest, _ := strings.Cut(databaseURL, ":")
	switch scheme {
	case "postgres", "postgresql":
		databaseURL = withSocket(databaseURL)
		if err := checkPostgresURL(databaseURL); err != nil {
			return database{}, ConfigError{fmt.Errorf("database URL: %w", err)}
		}
		return database{postgresURL: databaseURL}, nil
	case "citus":
		d, err := parseDatabase("postgres:" + rest)
		d.citus = true
		return d, err
	case "sqlite":
		file := strings.TrimPrefix(rest, "//")
		if strings.Contains(file, "?") {
			return database{}, ConfigError{errors.New("database URL: sqlite:FILE has no parameters, so FILE must not contain a question mark")}
		}
		if file != "" && !strings.HasPrefix(file, ":") {
			return database{file: file}, nil
		}
	}
	return database{}, ConfigError{errors.New("database URL: must be postgres://…, citus://… or sqlite:FILE")}
}

// String names the database without secrets.
func (d database) String() string {
	if d.file != "" {
		return "SQLite file " + d.file
	}
	if d.citus {
		return "Citus " + postgresHosts(d.postgresURL)
	}
	return "PostgreSQL " + postgresHosts(d.postgresURL)
}

// placing returns how many orders of several SKUs go to the database at a time; 0 is few.
func (d database) placing() int {
	switch {
	case d.file != "":
		return 1 // SQLite has one writer
	case d.citus:
		return 64 // a transaction over nodes costs as much as a hundred rows: let many orders share it
	default:
		return 0
	}
}

// own claims a SQLite file for this process. release gives it up.
func (d database) own() (release func() error, err error) {
	if d.file == "" {
		return func() error { return nil }, nil
	}
	lock, err := sqlite.LockFile(d.file)
	if err != nil {
		return nil, err
	}
	return lock.Unlock, nil
}

func (d database) migrator() (*migrations.Migrator, error) {
	if d.file != "" {
		return migrations.OpenSQLite(sqlite.DSN(d.file))
	}
	return migrations.OpenPostgres(cmp.Or(d.directURL, d.postgresURL), postgres.Settle)
}

// openStore opens a database whose schema is up to date.
func (d database) openStore(ctx context.Context) (stock.Store, error) {
	if d.file != "" {
		return sqlite.Open(ctx, d.file)
	}
	if err := d.asItSays(ctx); err != nil {
		return nil, err
	}
	if d.citus {
		return citus.Open(ctx, d.postgresURL, d.configure...)
	}
	store, err := postgres.Open(ctx, d.postgresURL, 0, d.configure...)
	if err != nil || d.directURL == "" {
		return store, err
	}
	return store, store.ListenAt(d.directURL)
}

// MigrateUp applies every migration that a database lacks, and returns all migrations.
func MigrateUp(ctx context.Context, databaseURL string) ([]migrations.Step, error) {
	return migrateAlone(ctx, databaseURL, (*migrations.Migrator).Up)
}

// MigrateDown undoes the last migration of a database, and returns all migrations.
func MigrateDown(ctx context.Context, databaseURL string) ([]migrations.Step, error) {
	if status, err := MigrationStatus(ctx, databaseURL); err != nil || status.Version == 0 {
		return status.Steps, err // nothing to undo; it creates no database
	}
	return migrateAlone(ctx, databaseURL, (*migrations.Migrator).Down)
}

// migrateAlone migrates a database while no service owns it.
func migrateAlone(
	ctx context.Context, databaseURL string, work func(*migrations.Migrator, context.Context) error,
) (steps []migrations.Step, err error) {
	d, err := parseDatabase(databaseURL)
	if err != nil {
		return nil, err
	}
	if err := d.reachable(ctx); err != nil {
		return nil, err
	}
	release, err := d.own()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, release()) }()
	err = d.migrate(func(m *migrations.Migrator) error {
		if err := work(m, ctx); err != nil {
			return err
		}
		steps, err = m.Status(ctx)
		return err
	})
	return steps, err
}

func (d database) migrate(work func(*migrations.Migrator) error) (err error) {
	m, err := d.migrator()
	if err != nil {
		return fmt.Errorf("%s: %w", d, err)
	}
	defer func() { err = errors.Join(err, m.Close()) }()
	return work(m)
}

// reachable fails with one clear line, before anything is tried.
func (d database) reachable(ctx context.Context) error {
	if d.file != "" {
		return sqlite.CheckFile(d.file)
	}
	store, err := postgres.Open(ctx, d.postgresURL, 1)
	if err != nil {
		return err
	}
	return store.Close()
}

// openOwned migrates a database up and opens it. release gives up a SQLite file, after the store is closed.
func (d database) openOwned(ctx context.Context, log *slog.Logger) (store stock.Store, release func() error, err error) {
	if err := d.reachable(ctx); err != nil {
		return nil, nil, err
	}
	release, err = d.own()
	if err != nil {
		return nil, nil, err
	}
	status, err := d.status(ctx)
	if err == nil {
		logDirty(log, status)
		err = d.migrate(func(m *migrations.Migrator) error { return m.Up(ctx) })
	}
	if err == nil && d.directURL != "" && d.upToDate(ctx) != nil {
		err = errors.New("the direct URL leads to another database: it has the schema, and that of the database URL has not")
	}
	if err == nil {
		err = d.logUnsafe(ctx, log)
	}
	if err == nil {
		store, err = d.openStore(ctx)
	}
	if err != nil {
		return nil, nil, errors.Join(err, release())
	}
	return store, release, nil
}

// OpenToShare migrates a database up and opens it for several services of this process: see [Config].Store. closing closes
// it.
func OpenToShare(ctx context.Context, databaseURL string, log *slog.Logger) (store stock.Store, closing func() error, err error) {
	d, err := parseDatabase(databaseURL)
	if err != nil {
		return nil, nil, err
	}
	store, release, err := d.openOwned(ctx, log)
	if err != nil {
		return nil, nil, err
	}
	return store, func() error { return errors.Join(store.Close(), release()) }, nil
}

// OpenForReading opens a database for reads, also while a service uses it. It creates nothing.
func OpenForReading(ctx context.Context, databaseURL string) (stock.Store, error) {
	return openBeside(ctx, databaseURL, sqlite.OpenReader)
}

// openForWriting opens a database for occasional writes, also while a service uses it. It creates nothing.
func openForWriting(ctx context.Context, databaseURL string) (stock.Store, error) {
	return openBeside(ctx, databaseURL, sqlite.Open)
}

func openBeside(ctx context.Context, databaseURL string, openFile func(context.Context, string) (*sqlite.Store, error)) (stock.Store, error) {
	d, err := parseDatabase(databaseURL)
	if err != nil {
		return nil, err
	}
	if d.file != "" {
		if err := d.exists(); err != nil {
			return nil, err
		}
	}
	if err := d.upToDate(ctx); err != nil {
		return nil, err
	}
	if d.file == "" {
		return d.openStore(ctx)
	}
	return openFile(ctx, d.file)
}

// exists returns an error if there is no SQLite file, or if it is not a regular file.
func (d database) exists() error {
	if _, err := os.Stat(d.file); errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("there is no SQLite file %s", d.file)
	}
	return sqlite.CheckFile(d.file)
}
