package postgres

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/cenkalti/backoff/v5"

	"inventory/internal/stock"
	"inventory/internal/stock/tables"
)

// Outbox is the [stock.Outbox] of a PostgreSQL database. It uses the connections of its store.
//
// While a transaction is open that writes anything on the same server, in whatever database, the changes of transactions that
// began to write after it cannot be read.
type Outbox struct{ store *Store }

var _ stock.Outbox = (*Outbox)(nil)

// Outbox returns the outbox of the database.
func (s *Store) Outbox() *Outbox { return &Outbox{s} }

// On implements [stock.Outbox].
func (o *Outbox) On(ctx context.Context) error {
	return o.change(ctx, append([]string{"outbox_lock_on"}, watching()...)...)
}

// watching names the statements that turn an outbox on.
func watching() []string {
	return []string{"outbox_on_insert", "outbox_on_change", "outbox_watch_inserts", "outbox_watch_changes"}
}

// TurnOutboxOn returns what [Outbox.On] does, for a transaction that has the tables to itself.
func TurnOutboxOn() (statements []string) {
	all := Statements()
	for _, name := range watching() {
		statements = append(statements, all.Of(name).Text)
	}
	return statements
}

// Off implements [stock.Outbox].
func (o *Outbox) Off(ctx context.Context) error {
	return o.change(ctx, "outbox_lock_off", "outbox_ignore_inserts", "outbox_ignore_changes", "outbox_forget")
}

// How often a change tries to lock the table, each time for half a second.
const (
	lockTries    = 20
	longestPause = 2 * time.Second
)

// change carries out statements in one transaction.
func (o *Outbox) change(ctx context.Context, statements ...string) error {
	pause := backoff.NewExponentialBackOff()
	pause.MaxInterval = longestPause
	_, err := backoff.Retry(ctx, func() (struct{}, error) {
		err := o.store.inTx(ctx, time.Time{}, func(tx transaction) error {
			return tx.exec(ctx, append([]string{"outbox_is_there", "outbox_limit_wait"}, statements...)...)
		})
		if err != nil && !Deadlocked(err) {
			err = backoff.Permanent(err)
		}
		return struct{}{}, err
	}, backoff.WithBackOff(pause), backoff.WithMaxTries(lockTries))
	return outboxError("change", err)
}

// Read implements [stock.Outbox].
func (o *Outbox) Read(ctx context.Context, after string, limit int) ([]stock.Change, error) {
	at, err := parseCursor(after)
	if err != nil {
		return nil, err
	}
	changes, err := tables.All(ctx, o.store.pool, func(row tables.Row) (c stock.Change, err error) {
		var at cursor
		err = row.Scan(&at.xid, &at.position, &c.SKU, &c.OrderID, &c.BuyerID, &c.Quantity, &c.Status, (*tables.Time)(&c.At), &c.WrittenOff)
		c.Cursor, c.Version = at.String(), at.position
		c.Namespace, c.OrderID = stock.SplitOrderKey(c.OrderID)
		return c, err
	}, "outbox_read", at.xid, at.position, limit)
	if err == nil && changes == nil {
		return nil, o.Check(ctx, after)
	}
	return changes, outboxError("read", err)
}

// Check returns a [stock.BadCursor] for a cursor that this database cannot have given yet: its reader would miss the changes
// before it, and a trim would remove what nobody has read.
func (o *Outbox) Check(ctx context.Context, text string) error {
	at, err := parseCursor(text)
	if err != nil {
		return err
	}
	var given bool
	if err := tables.Single(ctx, o.store.pool, []any{&given}, "outbox_was_given", at.xid); err != nil {
		return outboxError("check", err)
	}
	if !given {
		return stock.BadCursor(text)
	}
	return nil
}

// trimSize bounds one transaction of a trim.
const trimSize = 10_000

// Trim implements [stock.Outbox].
func (o *Outbox) Trim(ctx context.Context, before string) (removed int64, err error) {
	at, err := parseCursor(before)
	if err != nil {
		return 0, err
	}
	if err := o.Check(ctx, before); err != nil {
		return 0, err
	}
	for {
		n, err := o.trimSome(ctx, at)
		if removed += n; err != nil || n < trimSize {
			return removed, outboxError("trim", err)
		}
	}
}

func (o *Outbox) trimSome(ctx context.Context, at cursor) (removed int64, err error) {
	sql := o.store.pool.access.SQL("outbox_trim")
	tag, err := o.store.pool.Exec(during(ctx, sql), sql.Text, at.xid, at.position, trimSize)
	return tag.RowsAffected(), err
}

// Status implements [stock.Outbox].
func (o *Outbox) Status(ctx context.Context) (stock.OutboxStatus, error) {
	status, err := tables.OutboxStatus(ctx, o.store.pool)
	return status, outboxError("read", err)
}

// cursor is the position after a row of the outbox.
type cursor struct {
	xid      string
	position int64
}

func (c cursor) String() string { return c.xid + "." + strconv.FormatInt(c.position, 10) }

func parseCursor(text string) (cursor, error) {
	if text == "" {
		return cursor{xid: "0"}, nil
	}
	xid, position, _ := strings.Cut(text, ".")
	transaction, unread := strconv.ParseUint(xid, 10, 64)
	n, err := strconv.ParseInt(position, 10, 64)
	at := cursor{strconv.FormatUint(transaction, 10), n}
	if unread != nil || err != nil || n < 0 || at.String() != text {
		return cursor{}, stock.BadCursor(text)
	}
	return at, nil
}

// IsCursor reports whether a text is a cursor.
func IsCursor(text string) bool {
	_, err := parseCursor(text)
	return err == nil
}

func outboxError(what string, err error) error {
	switch {
	case err == nil:
		return nil
	case StateOf(err) == undefinedTable:
		return stock.ErrNoOutbox
	default:
		return fmt.Errorf("%s the outbox: %w", what, err)
	}
}
