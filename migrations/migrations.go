// Package migrations holds the schema of each store as golang-migrate steps, and runs them.
//
// A new database gets one base schema (0046_base). Each later step follows the rule of README.md: processes of the version before
// it sell while it runs and afterwards, and no order waits for it. The mark in schema_migrations is written with the last change of a
// step. On SQLite, whose file has one owner, every step is one transaction.
package migrations

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"slices"

	"github.com/golang-migrate/migrate/v4"
	"github.com/golang-migrate/migrate/v4/source"
	"github.com/golang-migrate/migrate/v4/source/iofs"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
	_ "modernc.org/sqlite" // the driver
)

//go:embed postgres/*.sql sqlite/*.sql
var steps embed.FS

// Migrator brings one database up or down. On PostgreSQL a step takes a lock, so that many processes can start at once; a SQLite
// file has one owner anyway. Where no step is to be done it takes no lock and writes nothing.
//
// A database whose version is above all steps here belongs to a newer program. It is left as it is: steps only add what
// an older program does not read, so an older one may start again while newer ones run.
type Migrator struct {
	// Notice is told what a step that takes long does, in the goroutine of Up or Down; nil: nobody is.
	Notice func(Notice)

	db      *sql.DB
	dialect dialect
	files   source.Driver
	list    []Step // none of them applied
}

// Notice is what a step does that takes long.
type Notice struct {
	Step  Step
	Rows  int64  // it went through so many since the notice before,
	Total int64  // of about so many; below 1: that is not known
	Waits string // for what it waits; "": it does not
}

func newMigrator(db *sql.DB, language dialect) (*Migrator, error) {
	files, err := iofs.New(steps, language.folder)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("read migrations: %w", err), db.Close())
	}
	list, err := language.list()
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return &Migrator{db: db, dialect: language, files: files, list: list}, nil
}

// OpenPostgres returns a migrator for the PostgreSQL database at a postgres:// URL. Close it. The functions in
// configure may change how it connects.
func OpenPostgres(databaseURL string, configure ...func(*pgx.ConnConfig)) (*Migrator, error) {
	config, err := pgxpool.ParseConfig(databaseURL) // knows the pool's parameters, and hides passwords
	if err != nil {
		return nil, fmt.Errorf("read the PostgreSQL URL: %w", err)
	}
	for _, change := range configure {
		change(config.ConnConfig)
	}
	return newMigrator(stdlib.OpenDB(*config.ConnConfig), forPostgres())
}

// OpenSQLite returns a migrator for the SQLite database of a data source name. Close it.
func OpenSQLite(dsn string) (*Migrator, error) {
	db, err := sql.Open("sqlite", dsn)
	if err != nil {
		return nil, fmt.Errorf("open SQLite: %w", err)
	}
	return newMigrator(db, forSQLite())
}

// Up applies every step that the database lacks. It waits until ctx ends for tables that others use.
func (m *Migrator) Up(ctx context.Context) error {
	if err := m.up(ctx); err != nil {
		return fmt.Errorf("migrate up: %w", err)
	}
	return nil
}

func (m *Migrator) up(ctx context.Context) error {
	if err := m.checkOwn(ctx); err != nil {
		return err
	}
	for {
		at, err := m.status(ctx, m.db)
		if err != nil || at.Newer() || at.Pending() == 0 {
			return err
		}
		next := slices.IndexFunc(at.Steps, func(s Step) bool { return !s.Applied })
		if _, err := m.carryOut(ctx, at, at.Steps[next], 1); err != nil {
			return err
		}
	}
}

// Down undoes the last applied step. If there is none it does nothing. The step says what is lost; if that is more than may be,
// Down fails and undoes nothing.
func (m *Migrator) Down(ctx context.Context) error {
	if err := m.down(ctx); err != nil {
		return fmt.Errorf("migrate down: %w", err)
	}
	return nil
}

func (m *Migrator) down(ctx context.Context) error {
	if err := m.checkOwn(ctx); err != nil {
		return err
	}
	for {
		at, err := m.status(ctx, m.db)
		switch {
		case err != nil || at.Version == 0:
			return err
		case at.Newer():
			return fmt.Errorf("the database is at version %d, which only a newer program knows to undo", at.Version)
		}
		if done, err := m.carryOut(ctx, at, *at.Last(), -1); done || err != nil {
			return err
		}
	}
}

// carryOut has golang-migrate carry out the next step up (1) or down (-1). It reports false, with nothing changed, if the
// database's status is another one by now.
func (m *Migrator) carryOut(ctx context.Context, at Status, step Step, direction int) (done bool, err error) {
	what := step.up
	if direction < 0 {
		what = step.down
	}
	to := &driver{ctx: ctx, migrator: m, at: at, step: step, change: what}
	engine, err := migrate.NewWithInstance("embedded", m.files, m.dialect.folder, to)
	if err != nil {
		return false, fmt.Errorf("open migrations: %w", err)
	}
	err = engine.Steps(direction)     // one at a time: golang-migrate reads ahead, and leaves a goroutine when a step fails
	filesErr, toErr := engine.Close() // of files that are embedded it closes nothing
	if err := errors.Join(err, filesErr, toErr); err != nil {
		return false, fmt.Errorf("step %d %s: %w", step.Version, step.Name, err)
	}
	return to.done, nil
}

// notice tells what a step does.
func (m *Migrator) notice(n Notice) {
	if m.Notice != nil {
		m.Notice(n)
	}
}

// Status reads which steps the database has. It writes nothing and takes no locks, so it works while a service runs, and needs
// only the right to read schema_migrations.
func (m *Migrator) Status(ctx context.Context) (Status, error) { return m.status(ctx, m.db) }

// Close gives the database connection back.
func (m *Migrator) Close() error { return m.db.Close() }
