// Package postgrestest lends databases with the schema to tests. A database that a test gives back is emptied and lent again,
// together with a store whose connections are open and have their plans: to make it all anew costs more than most tests do.
package postgrestest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"

	"inventory/internal/servertest"
	"inventory/internal/stock/postgres"
	"inventory/migrations"
)

// Databases are the databases of one server. A database is lent to one test at a time.
type Databases struct {
	server   *servertest.Postgres
	template string // the URL of a database with the schema
	empty    string // the statements that empty such a database

	mu   sync.Mutex
	free []*Database
}

// Database is an empty database with the schema.
type Database struct {
	URL string

	conn   *pgx.Conn // to look after it
	schema string    // what is in the schema
	drop   func(context.Context) error
	stores map[int32]*postgres.Store // by their most connections
}

// Start starts a private server, whose databases are lent until Stop.
func Start(ctx context.Context) (*Databases, error) {
	server, err := servertest.StartPostgres(ctx)
	if err != nil {
		return nil, err
	}
	d := &Databases{server: server}
	if err := d.makeTemplate(ctx); err != nil {
		return nil, errors.Join(err, server.Stop())
	}
	return d, nil
}

// makeTemplate makes the database that others are copies of: the migrations take several times as long.
func (d *Databases) makeTemplate(ctx context.Context) error {
	url, _, err := d.server.CreateDatabase(ctx, "")
	if err != nil {
		return err
	}
	m, err := migrations.OpenPostgres(url)
	if err != nil {
		return err
	}
	if err := errors.Join(m.Up(), m.Close()); err != nil {
		return err
	}
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return err
	}
	// Foreign keys would ask for an order.
	err = conn.QueryRow(ctx, `
		SELECT 'BEGIN; SET LOCAL session_replication_role = replica; ' ||
			string_agg(format('DELETE FROM %I;', tablename), ' ') || ' COMMIT'
		FROM pg_tables WHERE schemaname = 'public' AND tablename <> 'schema_migrations'`).Scan(&d.empty)
	d.template = url
	return errors.Join(err, conn.Close(ctx)) // nobody may be connected to a template
}

// Server is the server of the databases.
func (d *Databases) Server() *servertest.Postgres { return d.server }

// Template is the URL of a database with the schema, for copies of one's own.
func (d *Databases) Template() string { return d.template }

// Stop closes the stores that were lent, and stops the server.
func (d *Databases) Stop(ctx context.Context) error {
	var errs []error
	for _, database := range d.free {
		errs = append(errs, database.close(ctx))
	}
	return errors.Join(errors.Join(errs...), d.server.Stop())
}

// Lend lends a database until the test is over.
func (d *Databases) Lend(t testing.TB) *Database {
	t.Helper()
	database, err := d.take(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx := context.WithoutCancel(t.Context())
		if !t.Failed() && d.again(ctx, database) {
			return
		}
		if err := errors.Join(database.close(ctx), database.drop(ctx)); err != nil {
			t.Error(err)
		}
	})
	return database
}

// take returns the database that was given back last, or else a new one.
func (d *Databases) take(ctx context.Context) (*Database, error) {
	if database := d.pop(); database != nil {
		return database, nil
	}
	return d.newDatabase(ctx)
}

func (d *Databases) pop() *Database {
	d.mu.Lock()
	defer d.mu.Unlock()
	last := len(d.free) - 1
	if last < 0 {
		return nil
	}
	database := d.free[last]
	d.free = d.free[:last]
	return database
}

func (d *Databases) newDatabase(ctx context.Context) (*Database, error) {
	url, drop, err := d.server.CreateDatabase(ctx, d.template)
	if err != nil {
		return nil, err
	}
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return nil, errors.Join(err, drop(ctx))
	}
	database := &Database{URL: url, conn: conn, drop: drop, stores: make(map[int32]*postgres.Store)}
	if database.schema, err = database.inSchema(ctx); err != nil {
		return nil, errors.Join(err, conn.Close(ctx), drop(ctx))
	}
	return database, nil
}

// again empties a database to lend it again. It does not where the test has left something that is not in rows.
func (d *Databases) again(ctx context.Context, database *Database) bool {
	for _, store := range database.stores {
		if store.Pool().Busy > 0 {
			return false
		}
	}
	schema, err := database.inSchema(ctx)
	if err != nil || schema != database.schema {
		return false
	}
	if _, err := database.conn.Exec(ctx, endTransactions); err != nil {
		return false
	}
	if _, err := database.conn.Exec(ctx, d.empty); err != nil {
		return false
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.free = append(d.free, database)
	return true
}

// endTransactions ends those of clients that have gone.
const endTransactions = `
	SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity
	WHERE datname = current_database() AND backend_type = 'client backend' AND pid <> pg_backend_pid() AND state <> 'idle'`

// inSchema tells which things the schema has.
func (d *Database) inSchema(ctx context.Context) (things string, err error) {
	err = d.conn.QueryRow(ctx, `
		SELECT concat_ws(' ', (SELECT max(oid) FROM pg_class), (SELECT max(oid) FROM pg_constraint),
			(SELECT max(oid) FROM pg_trigger), (SELECT max(oid) FROM pg_proc))`).Scan(&things)
	return things, err
}

// Store returns the store of so many connections at most on the database; 0 is the default. It is closed by whoever lends the database.
func (d *Database) Store(t testing.TB, maxConns int32) *postgres.Store {
	t.Helper()
	if store := d.stores[maxConns]; store != nil {
		return store
	}
	store, err := postgres.Open(context.WithoutCancel(t.Context()), d.URL, maxConns)
	if err != nil {
		t.Fatal(err)
	}
	d.stores[maxConns] = store
	return store
}

func (d *Database) close(ctx context.Context) error {
	d.conn.Close(ctx) // its server may have been killed
	var errs []error
	for most, store := range d.stores {
		if err := store.Close(); err != nil {
			errs = append(errs, fmt.Errorf("the store of %d connections: %w", most, err))
		}
	}
	return errors.Join(errs...)
}
