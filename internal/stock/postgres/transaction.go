package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"inventory/internal/stock"
	"inventory/internal/stock/tables"
)

// inTx runs work in a transaction at READ COMMITTED, again after each race. An error of work rolls back. The commit must
// happen before the deadline or the context's, whichever is earlier, otherwise it returns [stock.ErrLate]. A zero deadline is
// none.
func (s *Store) inTx(ctx context.Context, deadline time.Time, work func(transaction) error) error {
	until, _ := ctx.Deadline()
	deadline = stock.Earlier(deadline, until)
	for {
		err := s.once(ctx, deadline, work)
		if errors.Is(err, stock.ErrLate) && time.Now().Before(deadline) { // the server's clock was set since it was read
			clock := tables.Single(ctx, s.pool, []any{new(time.Time), new(bool)}, "clock")
			err = cmp.Or(stock.Unwritten(clock), tables.ErrRaced)
		}
		if !errors.Is(err, tables.ErrRaced) {
			return translate(err)
		}
	}
}

// once runs work in one transaction. If the transaction is still open afterwards, the pool closes its connection. As long as the
// commit was not sent, nothing is written, whatever has failed.
func (s *Store) once(ctx context.Context, deadline time.Time, work func(transaction) error) error {
	conn, err := s.pool.Acquire(ctx)
	if err != nil {
		return stock.Unwritten(err)
	}
	defer conn.Release()
	tx, err := s.pool.begin(ctx, conn.Conn(), `BEGIN ISOLATION LEVEL READ COMMITTED; `)
	if err != nil {
		return stock.Unwritten(err)
	}
	switch err = stock.Unwritten(work(tx)); {
	case err != nil:
	case deadline.IsZero():
		err = s.pool.access.undone(s.pool.access.limited(ctx, tx.Commit))
	default:
		err = s.pool.access.undone(s.commitBefore(ctx, conn.Conn(), deadline))
	}
	if err == nil {
		s.sessions.server.wrote()
	}
	return tx.end(ctx, err)
}

// idle is the state of a connection without a transaction.
const idle = 'I'

// commitBefore commits, unless the server's clock is past a deadline. The check and the commit are one message, which the
// server starts to carry out when all of it has arrived. So the network cannot delay one without the other.
func (s *Store) commitBefore(ctx context.Context, conn *pgx.Conn, deadline time.Time) error {
	last := s.clock.at(deadline).UTC().Format("2006-01-02 15:04:05.999999Z07:00")
	err := s.pool.access.limited(ctx, func(ctx context.Context) error {
		_, err := conn.PgConn().Exec(ctx, `SELECT inventory_require(clock_timestamp() <= '`+last+`', 0); COMMIT`).ReadAll()
		return err
	})
	if StateOf(err) == required {
		return stock.ErrLate
	}
	return err
}

// transaction is a transaction of a store.
type transaction struct {
	pgx.Tx
	db database
}

var _ tables.Tx = transaction{}

// begin begins a transaction by some statements, and has its settings and the lock of its access in the same message.
func (d database) begin(ctx context.Context, conn *pgx.Conn, begin string) (tx transaction, err error) {
	tx.db = d
	begin += d.sessions.local() + d.access.Begin + d.access.Lock
	err = d.sessions.judge(d.access.limited(ctx, func(ctx context.Context) error {
		tx.Tx, err = conn.BeginTx(ctx, pgx.TxOptions{BeginQuery: begin})
		return err
	}))
	return tx, err
}

// end rolls the transaction back, unless it has ended. It returns the error of its work.
func (t transaction) end(ctx context.Context, err error) error {
	if t.Conn().PgConn().TxStatus() != idle {
		return errors.Join(err, t.db.access.limited(context.WithoutCancel(ctx), t.Rollback))
	}
	return err
}

// snapshot runs reads in a transaction that some statements begin.
func (d database) snapshot(ctx context.Context, begin string, work func(transaction) error) error {
	return d.AcquireFunc(ctx, func(conn *pgxpool.Conn) error {
		tx, err := d.begin(ctx, conn.Conn(), begin)
		if err != nil {
			return err
		}
		takesNoWrites := false
		err = tables.Single(ctx, tx, []any{new(time.Time), &takesNoWrites}, "clock")
		if err = cmp.Or(err, d.sessions.server.read(takesNoWrites)); err == nil {
			err = work(tx)
		}
		return tx.end(ctx, err)
	})
}

// Each implements [tables.Querier].
func (t transaction) Each(ctx context.Context, read func(tables.Row) error, name string, args ...any) error {
	query := &tables.Statements{}
	query.Each(read, name, args...)
	return t.Send(ctx, query)
}

// Send implements [tables.Tx].
func (t transaction) Send(ctx context.Context, statements *tables.Statements) error {
	if len(statements.List) == 0 {
		return nil
	}
	err := t.db.sendOn(ctx, t.Conn(), statements)
	if statements.Briefly && StateOf(err) == lockNotAvailable {
		return fmt.Errorf("%w: %w", stock.ErrHeld, err)
	}
	return err
}

// Notify implements [tables.Tx]. The notification goes out with the commit.
func (t transaction) Notify(statements *tables.Statements, sku string) {
	statements.Exec("notify", sku)
}

// Rename implements [tables.Tx].
func (transaction) Rename(statements *tables.Statements, sku, orderID string, f stock.Forgetting) {
	statements.Exec("forget_in_deduction", sku, orderID, f.Renamed(orderID), f.BuyerID, f.Name)
}

// RowWait implements [tables.Tx].
func (t transaction) RowWait(statements *tables.Statements, wait time.Duration) {
	limit := t.db.sessions.all["lock_timeout"].value
	if wait > 0 {
		limit = fmt.Sprintf("%dms", wait.Milliseconds())
	}
	statements.Exec("limit_waits", limit)
	statements.Briefly = statements.Briefly || wait > 0
}

// Instant implements [tables.Tx]. It reads the instant once the transaction has its locks.
func (t transaction) Instant(statements *tables.Statements, given time.Time, at *time.Time) {
	sent := time.Now()
	statements.Each(func(row tables.Row) error {
		if err := row.Scan((*tables.Time)(at)); err != nil {
			return err
		}
		if given.IsZero() {
			t.db.sessions.clock.note(sent, *at)
		}
		return nil
	}, "instant", instant(given))
}

// instant returns a time as an argument; null if it is zero.
func instant(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

// Expire implements [tables.Tx].
func (t transaction) Expire(statements *tables.Statements, sku string, at time.Time) (reservations *int) {
	reservations = new(int)
	statements.Single([]any{reservations}, "expire", sku, instant(at), stock.ExpireLimit, t.Swept().Until(at))
	return reservations
}

// Swept implements [tables.Tx].
func (t transaction) Swept() *tables.Swept { return t.db.swept }

// waitedLong is how old the instant of a decision may be when its last row is written. It is as long as the
// statements of a batch wait.
const waitedLong = 50 * time.Millisecond

// inTime makes up for what a transaction has waited for since its decision: buyers' rows, and order ids that somebody else had
// inserted. If the first of its sales has ended meanwhile, it begins again. Its reservations last as long as was asked, from
// now on, when it has all of its rows. given is the instant to decide by; it is not moved.
func (t transaction) inTime(ctx context.Context, given, ends time.Time, taken []*stock.Deduction) error {
	if len(taken) == 0 || !given.IsZero() {
		return nil
	}
	_, now := t.db.sessions.clock.between(time.Now())
	if !ends.IsZero() && !now.Before(ends) {
		return tables.ErrRaced
	}
	reserved := slices.DeleteFunc(taken, func(d *stock.Deduction) bool { return d.Status != stock.StatusReserved })
	if len(reserved) == 0 || now.Sub(reserved[0].ExpiresAt.Add(-reserved[0].ReserveFor)) < waitedLong {
		return nil
	}
	var since time.Time
	look, write := &tables.Statements{}, &tables.Statements{}
	t.Instant(look, given, &since)
	if err := t.Send(ctx, look); err != nil {
		return err
	}
	for _, d := range reserved {
		d.CreatedAt, d.ExpiresAt = since, since.Add(d.ReserveFor)
		write.Exec("postpone", d.SKU, d.OrderID, since, d.ExpiresAt)
	}
	return t.Send(ctx, write)
}
