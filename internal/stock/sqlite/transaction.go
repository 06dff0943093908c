package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"time"

	driver "modernc.org/sqlite"
	codes "modernc.org/sqlite/lib"

	"inventory/internal/stock"
	"inventory/internal/stock/tables"
)

// inTx runs work in a transaction of its own while no other write runs. An error of work rolls back. It commits before the deadline
// or the context's, whichever is earlier, otherwise it returns [stock.ErrLate]. A zero deadline is none.
func (s *Store) inTx(ctx context.Context, deadline time.Time, work func(*transaction) error) error {
	return s.inShared(ctx, deadline, mostShared, work)
}

// once runs work in one transaction, for the writer. Nothing is written unless SQLite was asked to commit.
func (s *Store) once(ctx context.Context, deadline time.Time, work func(*transaction) error) error {
	tx, err := s.beginWrite(ctx)
	if err != nil {
		return stock.Unwritten(because(ctx, err))
	}
	err = translate(work(tx))
	if err == nil && !deadline.IsZero() && time.Now().After(deadline) {
		err = stock.ErrLate
	}
	if err != nil {
		return stock.Unwritten(errors.Join(because(ctx, err), tx.Rollback()))
	}
	return tx.commit(ctx)
}

// because adds to an error that ctx has ended. Then database/sql and the driver answer with one of many errors of their own, such as
// that the rows are closed. An error that the package stock names stands for itself.
func because(ctx context.Context, err error) error {
	if _, coded := errors.AsType[*stock.Error](err); err == nil || coded || ctx.Err() == nil || errors.Is(err, stock.ErrUnwritten) {
		return err
	}
	return errors.Join(err, ctx.Err())
}

// commit commits. If ctx, the context of the transaction, has ended, database/sql rolls back instead; the driver knows no context here.
func (t *transaction) commit(ctx context.Context) error {
	err := t.Commit()
	switch {
	case err == nil:
		return nil
	case errors.Is(err, sql.ErrTxDone), errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return stock.Unwritten(because(ctx, err))
	}
	return because(ctx, translate(fmt.Errorf("commit: %w", err)))
}

// beginWrite starts a transaction that writes. It refuses to write into a file that was removed or replaced under its name:
// what it acknowledges could not be found later.
func (s *Store) beginWrite(ctx context.Context) (*transaction, error) {
	if found, err := os.Stat(s.file); err != nil || !os.SameFile(found, s.opened) {
		return nil, fmt.Errorf("the SQLite file %s was removed or replaced while it was in use", s.file)
	}
	return s.writer.begin(ctx)
}

// snapshot runs reads that see one state of the database. Writers go on meanwhile.
func (s *Store) snapshot(ctx context.Context, read func(*transaction) error) error {
	tx, err := s.reader.begin(ctx)
	if err != nil {
		return because(ctx, err)
	}
	defer tx.Rollback()
	return because(ctx, read(tx))
}

// translate marks an error as ErrGuard if a constraint fired: none of our statements should ever violate one.
func translate(err error) error {
	var e *driver.Error
	if errors.As(err, &e) && e.Code()&0xff == codes.SQLITE_CONSTRAINT {
		return fmt.Errorf("%w: %w", stock.ErrGuard, err)
	}
	return err
}

// earliest returns the earlier of a deadline and the deadline of a context; the zero time is none.
func earliest(ctx context.Context, deadline time.Time) time.Time {
	until, _ := ctx.Deadline()
	return stock.Earlier(deadline, until)
}

// A transaction runs statements that are prepared. It belongs to one goroutine.
type transaction struct {
	*sql.Tx
	db       *database
	prepared map[string]*sql.Stmt // by name, for its connection
	// shared says that several writes are in it: none may be cancelled, because SQLite would then undo all of them.
	shared bool
}

// context returns the context for a statement.
func (t *transaction) context(ctx context.Context) context.Context {
	if t.shared {
		return context.WithoutCancel(ctx)
	}
	return ctx
}

// statement finds a statement, or prepares it for this transaction.
func (t *transaction) statement(ctx context.Context, name string) (s *sql.Stmt, err error) {
	if s = t.prepared[name]; s != nil {
		return s, nil
	}
	if known := t.db.prepared[name]; known != nil {
		s = t.StmtContext(ctx, known)
	} else if s, err = t.PrepareContext(ctx, t.db.statements.Of(name).Text); err != nil {
		return nil, err
	}
	t.prepared[name] = s
	return s, nil
}

// exec carries out a statement that writes.
func (t *transaction) exec(ctx context.Context, name string, args ...any) (sql.Result, error) {
	ctx = t.context(ctx)
	s, err := t.statement(ctx, name)
	if err == nil {
		args, err = arguments(args)
	}
	if err != nil {
		return nil, err
	}
	return s.ExecContext(ctx, args...)
}

// Each implements [tables.Querier].
func (t *transaction) Each(ctx context.Context, read func(tables.Row) error, name string, args ...any) error {
	ctx = t.context(ctx)
	s, err := t.statement(ctx, name)
	if err != nil {
		return err
	}
	return each(ctx, s, read, args)
}

// Send implements [tables.Tx].
func (t *transaction) Send(ctx context.Context, statements *tables.Statements) error {
	for _, step := range statements.List {
		if err := t.sendStatement(ctx, step); err != nil {
			return err
		}
	}
	return nil
}

func (t *transaction) sendStatement(ctx context.Context, step *tables.Statement) error {
	switch {
	case step.Do != nil:
		return step.Do(ctx)
	case step.Into != nil:
		return tables.Single(ctx, t, step.Into, step.Name, step.Args...)
	case step.Each != nil:
		return t.Each(ctx, step.Each, step.Name, step.Args...)
	}
	result, err := t.exec(ctx, step.Name, step.Args...)
	if err != nil || step.Wrote == nil {
		return err
	}
	rows, err := result.RowsAffected()
	return errors.Join(err, step.Wrote(rows))
}

// Instant implements [tables.Tx]. A transaction that has the file does not wait any more.
func (*transaction) Instant(_ *tables.Statements, given time.Time, at *time.Time) { *at = now(given) }

// RowWait implements [tables.Tx]. A transaction has the file to itself.
func (*transaction) RowWait(*tables.Statements, time.Duration) {}

// Rename implements [tables.Tx]. Parts and amendments refer to their deduction, so references are checked at the end.
func (t *transaction) Rename(statements *tables.Statements, sku, orderID string, f stock.Forgetting) {
	key := f.Renamed(orderID)
	if key != orderID {
		statements.List = append(statements.List, &tables.Statement{Do: t.deferReferences})
		for _, name := range []string{"rename_parts", "rename_amendments", "rename_additions"} {
			statements.Exec(name, sku, orderID, key)
		}
	}
	statements.Exec("forget_in_deduction", sku, orderID, key, f.BuyerID, f.Name)
}

// deferReferences has references checked at the end of the transaction. SQLite carries such a statement out when it prepares it: so it does
// that here, and not once for all.
func (t *transaction) deferReferences(ctx context.Context) error {
	_, err := t.ExecContext(t.context(ctx), t.db.statements.Of("defer_references").Text)
	return err
}

// Notify implements [tables.Tx]. There is no other process.
func (*transaction) Notify(*tables.Statements, string) {}

// begin starts a transaction.
func (d *database) begin(ctx context.Context) (*transaction, error) {
	tx, err := d.BeginTx(ctx, nil)
	if err != nil {
		return nil, fmt.Errorf("begin: %w", err)
	}
	return &transaction{Tx: tx, db: d, prepared: make(map[string]*sql.Stmt)}, nil
}

// inSavepoint runs work, and undoes what it has written if it fails. broken is set if that cannot be undone.
func (t *transaction) inSavepoint(work func(*transaction) error) (err, broken error) {
	ctx := context.Background()
	if _, broken = t.exec(ctx, "savepoint"); broken != nil {
		return nil, broken
	}
	if err = work(t); err != nil {
		if _, broken = t.exec(ctx, "roll_back"); broken != nil {
			return err, broken
		}
	}
	_, broken = t.exec(ctx, "release")
	return err, broken
}
