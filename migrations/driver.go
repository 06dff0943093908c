package migrations

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/golang-migrate/migrate/v4/database"
)

// driver is the database as golang-migrate sees it, for one step.
//
// The drivers that come with golang-migrate lock a session, mark the step as begun, run it, and mark it as done. Behind a
// pooler a session may be another process' a moment later, and a process that dies in between leaves the mark of a step that was
// begun. Here Run does all of it in one transaction: lock, status, statements, mark. So the other methods have nothing to write.
type driver struct {
	ctx      context.Context
	migrator *Migrator
	at       Status // for which the step was chosen

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

// Version returns the version from which the step leads on. A step that an earlier release has begun and not finished is
// carried out once more.
func (d *driver) Version() (version int, dirty bool, err error) {
	version = database.NilVersion
	for _, step := range d.at.Steps {
		if step.Applied {
			version = int(step.Version) //nolint:gosec // versions are small
		}
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

// columnIsThere is SQLite's error for a column that is added twice: an earlier release was killed after the step, and before it
// had marked the step as done.
const columnIsThere = "duplicate column name"

// Run carries out the statements of a step, and marks the version that the database has then.
func (d *driver) Run(statements io.Reader) error {
	text, err := io.ReadAll(statements)
	if err != nil {
		return fmt.Errorf("read the step: %w", err)
	}
	err = d.inTransaction(string(text))
	if err != nil && d.at.Dirty && strings.Contains(err.Error(), columnIsThere) {
		err = d.inTransaction("")
	}
	return err
}

func (d *driver) inTransaction(statements string) (err error) {
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
	if m.dialect.lock != "" {
		if _, err := tx.ExecContext(d.ctx, m.dialect.lock, m.lockTimeout); err != nil {
			return fmt.Errorf("wait for other migrations: %w", err)
		}
	}
	if now, err := m.status(d.ctx, tx); err != nil || now.Version != d.at.Version || now.Dirty != d.at.Dirty {
		return err
	}
	mark := m.dialect.table + `; DELETE FROM schema_migrations`
	if d.target > 0 {
		mark += fmt.Sprintf(`; INSERT INTO schema_migrations (version, dirty) VALUES (%d, false)`, d.target)
	}
	for _, text := range []string{statements, mark} {
		if _, err := tx.ExecContext(d.ctx, text); err != nil {
			return err
		}
	}
	d.done = true
	return tx.Commit()
}

// ignoreDone drops the error that a transaction is over already.
func ignoreDone(err error) error {
	if errors.Is(err, sql.ErrTxDone) {
		return nil
	}
	return err
}
