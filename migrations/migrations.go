// Package migrations holds the schema of each store as golang-migrate steps, and runs them.
//
// On PostgreSQL every step is one statement that may run twice (IF NOT EXISTS). On SQLite, which adds columns one by
// one, a step is one transaction. So if a process is killed, a step has happened or has not, and the next start
// finishes the work. Both dialects have the same steps under the same numbers.
//
// A step only adds, or loosens: an older version of the service keeps working next to the one that applied it.
package migrations

import (
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/golang-migrate/migrate/v4"
	"github.com/golang-migrate/migrate/v4/database"
	pgxmigrate "github.com/golang-migrate/migrate/v4/database/pgx/v5"
	"github.com/golang-migrate/migrate/v4/database/sqlite"
	"github.com/golang-migrate/migrate/v4/source"
	"github.com/golang-migrate/migrate/v4/source/iofs"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
)

//go:embed postgres/*.sql sqlite/*.sql
var steps embed.FS

// Step is one migration and whether the database has it.
type Step struct {
	Version uint
	Name    string
	Applied bool
}

// Migrator brings one database up or down. On PostgreSQL it works under an advisory lock, so that many processes
// can start at once; a SQLite file has one owner anyway.
//
// A database whose version is above all steps here belongs to a newer program. It is left as it is: steps only add what
// an older program does not read, so an older one may start again while newer ones run.
type Migrator struct {
	steps   fs.FS
	migrate *migrate.Migrate
	alone   func(work func() error) error // runs work while no other process migrates
}

// OpenPostgres returns a migrator for the PostgreSQL database at a postgres:// URL. Close it. The functions in
// configure may change how it connects.
func OpenPostgres(databaseURL string, configure ...func(*pgx.ConnConfig)) (*Migrator, error) {
	config, err := pgxpool.ParseConfig(databaseURL) // knows the pool's parameters, and hides passwords
	if err != nil {
		return nil, fmt.Errorf("read the PostgreSQL URL: %w", err)
	}
	if parameters := config.ConnConfig.RuntimeParams; parameters["lock_timeout"] == "" {
		parameters["lock_timeout"] = lockTimeout
	}
	for _, change := range configure {
		change(config.ConnConfig)
	}
	db := stdlib.OpenDB(*config.ConnConfig)
	m, err := open(Postgres(), db, func() (database.Driver, error) { return pgxmigrate.WithInstance(db, &pgxmigrate.Config{}) })
	if err != nil {
		return nil, err
	}
	m.alone = func(work func() error) error { return aloneOn(db, work) }
	return m, nil
}

// OpenSQLite returns a migrator for the SQLite database of a data source name. Close it.
func OpenSQLite(dsn string) (*Migrator, error) {
	db, err := sql.Open("sqlite", dsn)
	if err != nil {
		return nil, fmt.Errorf("open SQLite: %w", err)
	}
	return open(SQLite(), db, func() (database.Driver, error) { return sqlite.WithInstance(db, &sqlite.Config{}) })
}

// open takes over db. The driver creates the table of migrations: nothing is written before that.
func open(d Dialect, db *sql.DB, begin func() (database.Driver, error)) (*Migrator, error) {
	if err := checkOwn(db, d); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	driver, err := begin()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open the migration table: %w", err), db.Close())
	}
	files, err := fs.Sub(steps, d.folder)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("read migrations: %w", err), driver.Close())
	}
	from, err := iofs.New(files, ".")
	if err != nil {
		return nil, errors.Join(fmt.Errorf("read migrations: %w", err), driver.Close())
	}
	m, err := migrate.NewWithInstance("embedded", from, d.folder, driver)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open migrations: %w", err), driver.Close())
	}
	return &Migrator{steps: files, migrate: m, alone: func(work func() error) error { return work() }}, nil
}

// columnIsThere is SQLite's error for a column that is added twice. Steps are transactions there: then the whole step
// has been applied.
const columnIsThere = "duplicate column name"

// Up applies every step that the database lacks.
func (m *Migrator) Up() error {
	if err := m.alone(m.up); err != nil && !errors.Is(err, migrate.ErrNoChange) {
		return fmt.Errorf("migrate up: %w", err)
	}
	return nil
}

func (m *Migrator) up() error {
	at, _, err := m.migrate.Version()
	if err == nil && m.newer(at) {
		return nil
	}
	err = m.migrate.Up()
	if dirty := (migrate.ErrDirty{}); errors.As(err, &dirty) {
		// A process died between marking the step and finishing it. Steps may run twice, so run it again.
		if err = m.migrate.Force(m.before(dirty.Version)); err == nil {
			err = m.migrate.Up()
		}
		if err != nil && strings.Contains(err.Error(), columnIsThere) {
			if err = m.migrate.Force(dirty.Version); err == nil {
				err = m.migrate.Up()
			}
		}
	}
	return err
}

// Down undoes the last applied step. If there is none it does nothing. What an older schema cannot hold is folded into what
// it can hold, as the step's file says; otherwise Down fails and undoes nothing.
func (m *Migrator) Down() error {
	if err := m.alone(m.down); err != nil {
		return fmt.Errorf("migrate down: %w", err)
	}
	return nil
}

func (m *Migrator) down() error {
	at, dirty, err := m.migrate.Version()
	switch {
	case errors.Is(err, migrate.ErrNilVersion):
		return nil
	case err != nil:
		return err
	case m.newer(at):
		return fmt.Errorf("the database is at version %d, which only a newer program knows to undo", at)
	case dirty:
		return fmt.Errorf("version %d was begun and not finished: migrate up finishes it", at)
	}
	if err = m.migrate.Steps(-1); err != nil { // a step is one transaction: nothing of it is done
		err = errors.Join(err, m.migrate.Force(int(at))) //nolint:gosec // versions are small
	}
	return err
}

// Status lists all steps, ascending.
func (m *Migrator) Status() ([]Step, error) {
	at, _, err := m.migrate.Version()
	if err != nil && !errors.Is(err, migrate.ErrNilVersion) {
		return nil, fmt.Errorf("migration status: %w", err)
	}
	list := m.list()
	for i := range list {
		list[i].Applied = err == nil && list[i].Version <= at
	}
	return list, nil
}

// Close gives the database connection back.
func (m *Migrator) Close() error {
	sourceErr, databaseErr := m.migrate.Close()
	return errors.Join(sourceErr, databaseErr)
}

// list returns the embedded steps, ascending, because their names are zero-padded and a folder is read sorted.
func (m *Migrator) list() []Step {
	names, err := fs.Glob(m.steps, "*.up.sql")
	if err != nil {
		panic(fmt.Sprintf("constant pattern: %v", err))
	}
	var list []Step
	for _, name := range names {
		if parsed, err := source.Parse(path.Base(name)); err == nil {
			list = append(list, Step{Version: parsed.Version, Name: parsed.Identifier})
		}
	}
	return list
}

// before returns the version that precedes v, or golang-migrate's value for none.
func (m *Migrator) before(v int) int {
	previous := database.NilVersion
	for _, step := range m.list() {
		if version := int(step.Version); version < v { //nolint:gosec // versions are small
			previous = version
		}
	}
	return previous
}

// newer reports whether a version is above all steps here.
func (m *Migrator) newer(version uint) bool {
	steps := m.list()
	return version > steps[len(steps)-1].Version
}
