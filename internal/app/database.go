package app

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"

	"inventory/internal/stock"
	"inventory/internal/stock/citus"
	"inventory/internal/stock/postgres"
	"inventory/internal/stock/sqlite"
	"inventory/migrations"
)

// database is the store that a URL names.
type database struct {
	postgresURL string
	directURL   string                  // leads to the same past a pooler; "": there is none
	citus       bool                    // postgresURL names a coordinator
	file        string                  // the SQLite file; "": it is PostgreSQL
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

// own claims a SQLite file for this process. release gives it up. If PostgreSQL does not answer, it fails with one clear line.
func (d database) own(ctx context.Context) (release func() error, err error) {
	if d.file == "" {
		return func() error { return nil }, d.reachable(ctx)
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

// open opens a database whose schema is up to date. With readOnly a SQLite file is opened for reads alone.
func (d database) open(ctx context.Context, readOnly bool) (stock.Store, error) {
	switch {
	case d.file != "" && readOnly:
		return sqlite.OpenReader(ctx, d.file)
	case d.file != "":
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
// notice is told what takes long; nil: nobody is.
func MigrateUp(ctx context.Context, databaseURL string, notice func(migrations.Notice)) ([]migrations.Step, error) {
	return migrateAlone(ctx, databaseURL, notice, (*migrations.Migrator).Up)
}

// MigrateDown undoes the last migration of a database, and returns all migrations.
func MigrateDown(ctx context.Context, databaseURL string, notice func(migrations.Notice)) ([]migrations.Step, error) {
	if status, err := MigrationStatus(ctx, databaseURL); err != nil || status.Version == 0 {
		return status.Steps, err // nothing to undo; it creates no database
	}
	return migrateAlone(ctx, databaseURL, notice, (*migrations.Migrator).Down)
}

// migrateAlone migrates a database while no service owns it.
func migrateAlone(
	ctx context.Context, databaseURL string, notice func(migrations.Notice), work func(*migrations.Migrator, context.Context) error,
) (steps []migrations.Step, err error) {
	d, err := parseDatabase(databaseURL)
	if err != nil {
		return nil, err
	}
	release, err := d.own(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, release()) }()
	err = d.migrate(func(m *migrations.Migrator) error {
		m.Notice = notice
		if err := work(m, ctx); err != nil {
			return err
		}
		status, err := m.Status(ctx)
		steps = status.Steps
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

// openOwned migrates a database up and opens it. closing closes it, and gives up a SQLite file.
func (d database) openOwned(ctx context.Context, log *slog.Logger) (store stock.Store, closing func() error, err error) {
	release, err := d.own(ctx)
	if err != nil {
		return nil, nil, err
	}
	err = d.migrate(func(m *migrations.Migrator) error {
		m.Notice = logMigration(log)
		return m.Up(ctx)
	})
	if err == nil && d.directURL != "" { // which may lead to another database
		err = d.upToDate(ctx)
	}
	if err == nil {
		err = d.logUnsafe(ctx, log)
	}
	if err == nil {
		store, err = d.open(ctx, false)
	}
	if err != nil {
		return nil, nil, errors.Join(err, release())
	}
	return store, func() error { return errors.Join(store.Close(), release()) }, nil
}

// logMigration logs what a migration does that takes long, once in a while.
func logMigration(log *slog.Logger) func(migrations.Notice) {
	rows, told := int64(0), time.Time{}
	return func(n migrations.Notice) {
		if rows += n.Rows; time.Since(told) >= migrationLogged {
			told = time.Now()
			log.Info("a migration takes its time", "step", n.Step.Name, "rows", rows, "waits_for", n.Waits)
		}
	}
}

const migrationLogged = 5 * time.Second

// OpenToShare migrates a database up and opens it for several services of this process: see [Config].Store. closing closes
// it.
func OpenToShare(ctx context.Context, databaseURL string, log *slog.Logger) (store stock.Store, closing func() error, err error) {
	d, err := parseDatabase(databaseURL)
	if err != nil {
		return nil, nil, err
	}
	return d.openOwned(ctx, log)
}

// OpenForReading opens a database for reads, also while a service uses it. It creates nothing.
func OpenForReading(ctx context.Context, databaseURL string) (stock.Store, error) {
	return openBeside(ctx, databaseURL, true)
}

// openBeside opens a database that exists and has the schema of this program, also while a service uses it.
func openBeside(ctx context.Context, databaseURL string, readOnly bool) (stock.Store, error) {
	d, err := existing(databaseURL)
	if err != nil {
		return nil, err
	}
	if err := d.upToDate(ctx); err != nil {
		return nil, err
	}
	return d.open(ctx, readOnly)
}

// existing returns the database of a URL. A SQLite file must exist and be a regular file.
func existing(databaseURL string) (database, error) {
	d, err := parseDatabase(databaseURL)
	if err != nil || d.file == "" {
		return d, err
	}
	if _, err := os.Stat(d.file); errors.Is(err, fs.ErrNotExist) {
		return d, fmt.Errorf("there is no SQLite file %s", d.file)
	}
	return d, sqlite.CheckFile(d.file)
}

// Distribute distributes a database over the nodes of Citus, in that many shards, and returns the steps. It skips steps
// that are done. A dry run changes nothing.
func Distribute(ctx context.Context, databaseURL string, shards int, dryRun bool) ([]migrations.Distribution, error) {
	d, err := parseDatabase(databaseURL)
	if err != nil {
		return nil, err
	}
	if !d.citus {
		return nil, ConfigError{errors.New("database URL: must be citus://… of the coordinator")}
	}
	if shards < 1 || shards > migrations.MaxShards {
		return nil, ConfigError{fmt.Errorf("shards: must be 1 to %d", migrations.MaxShards)}
	}
	if err := d.upToDate(ctx); err != nil {
		return nil, err
	}
	return migrations.Distribute(ctx, d.postgresURL, shards, dryRun)
}

// The first statement checks that the table of Citus exists: without the extension, a query of it is an error.
const (
	hasCitus      = `SELECT to_regclass('pg_catalog.pg_dist_partition') IS NOT NULL`
	isDistributed = `SELECT EXISTS (SELECT FROM pg_dist_partition WHERE logicalrelid = to_regclass('skus'))`
)

// asItSays refuses a database that is distributed if its URL does not say so: some statements would return wrong counts.
// It also refuses one that is not distributed if its URL says that it is.
func (d database) asItSays(ctx context.Context) error {
	var is bool
	err := d.query(func(db *sql.DB) error {
		var has bool
		if err := db.QueryRowContext(ctx, hasCitus).Scan(&has); err != nil || !has {
			return err
		}
		return db.QueryRowContext(ctx, isDistributed).Scan(&is)
	})
	switch {
	case err != nil:
		return fmt.Errorf("ask whether the database is distributed: %w", err)
	case is && !d.citus:
		return errors.New("the database is distributed over nodes of Citus: its URL must be citus://…")
	case !is && d.citus:
		return errors.New("the database is not distributed: run inventory migrate distribute")
	default:
		return nil
	}
}

// MigrationStatus compares the schema of a database with this program. It changes nothing, and works while a service runs.
func MigrationStatus(ctx context.Context, databaseURL string) (migrations.Status, error) {
	d, err := parseDatabase(databaseURL)
	if err != nil {
		return migrations.Status{}, err
	}
	return d.status(ctx)
}

func (d database) status(ctx context.Context) (status migrations.Status, err error) {
	if err := d.reachable(ctx); err != nil {
		return status, err
	}
	var m *migrations.Migrator
	if d.file == "" {
		m, err = migrations.OpenPostgres(d.postgresURL, postgres.Settle)
	} else {
		name := sqlite.ReadOnlyDSN(d.file)
		if _, missing := os.Stat(d.file); errors.Is(missing, fs.ErrNotExist) {
			name = ":memory:" // as an empty file, which is not created
		}
		m, err = migrations.OpenSQLite(name)
	}
	if err != nil {
		return status, err
	}
	defer func() { err = errors.Join(err, m.Close()) }()
	return m.Status(ctx)
}

// query opens a database for a few queries, and closes it.
func (d database) query(read func(*sql.DB) error) (err error) {
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
		steps := "one step"
		if n > 1 {
			steps = fmt.Sprintf("%d steps", n)
		}
		return fmt.Errorf("the schema is %s older than this program, at version %d: run inventory migrate up, or the program of that version",
			steps, status.Version)
	}
	return nil
}

// unsafeSettings are the settings with which PostgreSQL loses orders that it has acknowledged.
const unsafeSettings = `SELECT coalesce(string_agg(name, ', '), '') FROM pg_settings
WHERE name IN ('synchronous_commit', 'fsync', 'full_page_writes') AND setting = 'off'`

// farServer is a round trip to PostgreSQL with which orders of several SKUs may miss their deadlines.
const farServer = 20 * time.Millisecond

// logUnsafe logs what is wrong with the server, but for which the service starts.
func (d database) logUnsafe(ctx context.Context, log *slog.Logger) error {
	if d.file != "" {
		return nil
	}
	return d.query(func(db *sql.DB) error {
		var off string
		if err := db.QueryRowContext(ctx, unsafeSettings).Scan(&off); err != nil {
			return fmt.Errorf("read the settings of PostgreSQL: %w", err)
		}
		if off != "" {
			log.Warn("PostgreSQL may lose orders that were accepted when it crashes: set " + off + " to on")
		}
		trip, err := roundTrip(ctx, db)
		if err == nil && trip > farServer {
			log.Warn("PostgreSQL is slow or far away: run the service beside it", "round_trip", trip, "at_most", farServer)
		}
		return err
	})
}

// roundTrip returns the shortest of three round trips.
func roundTrip(ctx context.Context, db *sql.DB) (shortest time.Duration, err error) {
	for range 3 {
		sent := time.Now()
		if err := db.PingContext(ctx); err != nil {
			return 0, fmt.Errorf("measure the round trip to PostgreSQL: %w", err)
		}
		if took := time.Since(sent); shortest == 0 || took < shortest {
			shortest = took
		}
	}
	return shortest, nil
}

// WithOutbox opens the outbox of a database for a function, also while a service uses it. With readOnly it only reads. It
// creates nothing.
func WithOutbox(ctx context.Context, databaseURL string, readOnly bool, work func(stock.Outbox) error) (err error) {
	d, err := existing(databaseURL)
	if err != nil {
		return err
	}
	return d.withOutbox(ctx, readOnly, work)
}

func (d database) withOutbox(ctx context.Context, readOnly bool, work func(stock.Outbox) error) (err error) {
	store, err := d.open(ctx, readOnly)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	switch store := store.(type) {
	case *citus.Store:
		return work(store.Outbox())
	case *sqlite.Store:
		return work(store.Outbox())
	default:
		return work(store.(*postgres.Store).Outbox())
	}
}

func (d database) outboxStatus(ctx context.Context) (status stock.OutboxStatus, err error) {
	err = d.withOutbox(ctx, true, func(o stock.Outbox) error {
		status, err = o.Status(ctx)
		return err
	})
	return status, err
}
