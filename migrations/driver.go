package migrations

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/golang-migrate/migrate/v4/database"
	"github.com/jackc/pgx/v5/pgconn"
)

// driver is the database as golang-migrate sees it, for one step.
//
// The drivers that come with golang-migrate lock a session, mark the step as begun, run it, and mark it as done. Behind a
// pooler a session may be another process' a moment later, and a process that dies in between leaves the mark of a step that was
// begun. Here Run does all of it: lock, status, statements, mark. So the other methods have nothing to write.
type driver struct {
	ctx      context.Context
	migrator *Migrator
	at       Status // for which the step was chosen
	step     Step
	change   change // what it does

	target int  // the version that the database has after the step
	done   bool // Run has carried out the step; otherwise the database's status is another one by now
}

var _ database.Driver = (*driver)(nil)

var errNotUsed = errors.New("not used by this program")

// Open is for drivers that are chosen by a URL.
func (*driver) Open(string) (database.Driver, error) { return nil, errNotUsed }

// Drop would remove everything.
func (*driver) Drop() error { return errNotUsed }

// Close leaves the database open, for the next step.
func (*driver) Close() error { return nil }

// Lock does nothing: the lock belongs to the transaction of Run.
func (*driver) Lock() error { return nil }

// Unlock does nothing.
func (*driver) Unlock() error { return nil }

// Version returns the version from which the step leads on.
func (d *driver) Version() (version int, dirty bool, err error) {
	version = database.NilVersion
	if last := d.at.Last(); last != nil {
		version = int(last.Version) //nolint:gosec // versions are small
	}
	return version, false, nil
}

// SetVersion is called before and after Run, which writes the mark.
func (d *driver) SetVersion(version int, dirty bool) error {
	if dirty {
		d.target = version
	}
	return nil
}

// How long a step waits for a table, while orders wait behind it, and until it tries again.
const (
	tableWait  = "50ms"
	firstPause = 100 * time.Millisecond
	mostPause  = 2 * time.Second
)

// Run carries out the step, which was read before. It tries again as long as another process migrates, or a table is in use.
func (d *driver) Run(text io.Reader) error {
	if _, err := io.Copy(io.Discard, text); err != nil { // or else a goroutine of golang-migrate waits for ever
		return fmt.Errorf("read the step: %w", err)
	}
	pause := firstPause
	for {
		switch err := d.once(); {
		case err == nil:
			return nil
		case !d.waits(err, &pause):
			return errors.Join(err, d.ctx.Err())
		}
	}
}

// waits waits for a pause, if an error is that something is in use. The pause grows: each try makes orders wait.
func (d *driver) waits(err error, pause *time.Duration) bool {
	what := d.waitsFor(err)
	if what == "" {
		return false
	}
	d.migrator.notice(Notice{Step: d.step, Waits: what})
	select {
	case <-d.ctx.Done():
		return false
	case <-time.After(*pause):
		*pause = min(2**pause, mostPause)
		return true
	}
}

var errElsewhere = errors.New("another process migrates this database")

// waitsFor says for what the step waits; "": it does not.
func (d *driver) waitsFor(err error) string {
	var refused *pgconn.PgError
	switch {
	case errors.Is(err, errElsewhere):
		return errElsewhere.Error()
	case !errors.As(err, &refused) || refused.Code != "55P03": // lock_not_available
		return ""
	}
	var user string
	if err := d.migrator.db.QueryRowContext(d.ctx, d.migrator.dialect.users).Scan(&user); err != nil {
		return "a table that is in use"
	}
	return "a table that is in use, perhaps by " + user
}

// once carries the step out, in a transaction that has the lock of all steps and writes the mark.
func (d *driver) once() (err error) {
	m := d.migrator
	tx, err := m.db.BeginTx(d.ctx, &sql.TxOptions{Isolation: m.dialect.isolation})
	if err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	defer func() {
		if !d.done {
			err = errors.Join(err, ignoreDone(tx.Rollback()))
		}
	}()
	if m.dialect.online {
		if err := d.lock(tx); err != nil {
			return err
		}
	}
	if now, err := m.status(d.ctx, tx); err != nil || now.Version != d.at.Version {
		return err
	}
	if err := d.work(tx); err != nil {
		return err
	}
	mark := m.dialect.table + `; DELETE FROM schema_migrations`
	if d.target > 0 {
		mark += fmt.Sprintf(`; INSERT INTO schema_migrations (version, dirty) VALUES (%d, false)`, d.target)
	}
	if _, err := tx.ExecContext(d.ctx, mark); err != nil {
		return err
	}
	d.done = true
	return tx.Commit()
}

// lock takes the lock of all steps until the end of the transaction, or returns errElsewhere. It does not wait: an index is built once
// all older snapshots are gone, and a statement that waits has one.
func (d *driver) lock(tx *sql.Tx) error {
	var ours bool
	if err := tx.QueryRowContext(d.ctx, d.migrator.dialect.lock, tableWait).Scan(&ours, new(string)); err != nil {
		return fmt.Errorf("look for other migrations: %w", err)
	}
	if !ours {
		return errElsewhere
	}
	return nil
}

// waitBeside lets a transaction wait until work beside it is done. It has no arguments, so it goes as a simple query, which also ends the
// query before it: that would keep its snapshot, and an index is built once all older snapshots are gone.
const waitBeside = `SET LOCAL idle_in_transaction_session_timeout = 0`

// work carries out the statements: in the transaction, or beside it, while it keeps others away.
func (d *driver) work(tx *sql.Tx) error {
	if beside := d.change.kind == fills || d.change.kind == indexes; beside && d.migrator.dialect.online {
		if _, err := tx.ExecContext(d.ctx, waitBeside); err != nil {
			return err
		}
		if d.change.kind == fills {
			return d.fill(d.change.statements[0])
		}
		return d.index(d.change.statements[0], d.change.index())
	}
	for _, statement := range d.change.statements {
		if _, err := tx.ExecContext(d.ctx, statement); err != nil {
			return err
		}
	}
	return nil
}

// How many rows a statement fills. They grow or shrink, so that it takes about half of what orders may wait for it.
const (
	firstBatch   = 100
	mostBatch    = 100_000
	batchTakes   = 50 * time.Millisecond
	batchTooLong = 2 * batchTakes
)

// fill fills rows, some after the other in the order of a key, until none are left. A row that is in use is tried again.
func (d *driver) fill(statement string) error {
	batch, after, pause := firstBatch, "", firstPause
	for {
		began := time.Now()
		rows, total, last, err := d.fillSome(statement, batch, after)
		if d.waits(err, &pause) {
			continue
		}
		switch took := time.Since(began); {
		case err != nil || !last.Valid:
			return err // joined with that of the context, if that has ended
		case took < batchTakes && batch < mostBatch:
			batch *= 2
		case took > batchTooLong:
			batch = max(1, batch/2)
		}
		after, pause = last.String, firstPause
		d.migrator.notice(Notice{Step: d.step, Rows: rows, Total: total})
	}
}

// fillSome goes through some rows with keys after one, and returns how many of about how many they were, and the last key; not valid:
// there were none.
func (d *driver) fillSome(statement string, batch int, after string) (rows, total int64, last sql.NullString, err error) {
	tx, err := d.migrator.db.BeginTx(d.ctx, nil)
	if err != nil {
		return 0, 0, last, fmt.Errorf("begin: %w", err)
	}
	defer func() { err = errors.Join(err, ignoreDone(tx.Rollback())) }()
	const settings = `SELECT set_config('inventory.batch', $1, true), set_config('inventory.after', $2, true), set_config('lock_timeout', $3, true)`
	if err := tx.QueryRowContext(d.ctx, settings, strconv.Itoa(batch), after, tableWait).Scan(new(string), new(string), new(string)); err != nil {
		return 0, 0, last, err
	}
	if err := tx.QueryRowContext(d.ctx, statement).Scan(&rows, &last, &total); err != nil {
		return 0, 0, last, err
	}
	return rows, total, last, tx.Commit()
}

// index builds an index, unless it is there. It drops one first that is not valid: a process has left it that was killed.
func (d *driver) index(statement, name string) error {
	var there, valid bool
	if err := d.migrator.db.QueryRowContext(d.ctx, d.migrator.dialect.hasIndex, name).Scan(&there, &valid); err != nil {
		return fmt.Errorf("look for the index: %w", err)
	}
	if there && !valid {
		if err := d.patiently(`DROP INDEX CONCURRENTLY ` + name); err != nil {
			return fmt.Errorf("drop an index that is not valid: %w", err)
		}
	}
	if there && valid {
		return nil
	}
	return d.patiently(statement)
}

// patiently carries out a statement for which no order waits. It waits for what began before it, such as a report.
func (d *driver) patiently(statement string) (err error) {
	conn, err := d.migrator.db.Conn(d.ctx)
	if err != nil {
		return fmt.Errorf("connect: %w", err)
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	for _, one := range []string{`SET lock_timeout = 0`, statement, `RESET lock_timeout`} {
		if _, err := conn.ExecContext(d.ctx, one); err != nil {
			return err
		}
	}
	return nil
}

// ignoreDone drops the error that a transaction is over already.
func ignoreDone(err error) error {
	if errors.Is(err, sql.ErrTxDone) {
		return nil
	}
	return err
}
