package postgres

import (
	"context"
	_ "embed"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/cenkalti/backoff/v5"

	"inventory/internal/stock"
	"inventory/internal/stock/tables"
)

var (
	//go:embed outbox_on.sql
	outboxOnSQL string
	//go:embed outbox_off.sql
	outboxOffSQL string
	//go:embed outbox_read.sql
	outboxReadSQL string
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
func (o *Outbox) On(ctx context.Context) error { return o.change(ctx, outboxOnSQL) }

// Off implements [stock.Outbox].
func (o *Outbox) Off(ctx context.Context) error { return o.change(ctx, outboxOffSQL) }

// How long a change waits for writers to end, while others wait behind it; and how often it tries.
const (
	setLockTimeout = `SET LOCAL lock_timeout = '500ms'`
	lockTries      = 20
	longestPause   = 2 * time.Second
)

const undefinedTable = "42P01"

// change runs the statements of a file in one transaction.
func (o *Outbox) change(ctx context.Context, statements string) error {
	pause := backoff.NewExponentialBackOff()
	pause.MaxInterval = longestPause
	_, err := backoff.Retry(ctx, func() (struct{}, error) {
		err := o.store.inTx(ctx, time.Time{}, func(tx transaction) error {
			if err := o.isThere(ctx, tx); err != nil {
				return err
			}
			if err := tx.Exec(ctx, setLockTimeout); err != nil {
				return err
			}
			if o.store.pool.dialect.routes() {
				return changeRouted(ctx, tx, statements)
			}
			return tx.Exec(ctx, statements)
		})
		if err != nil && stateOf(err) != lockNotAvailable && stateOf(err) != deadlockDetected {
			err = backoff.Permanent(err)
		}
		return struct{}{}, err
	}, backoff.WithBackOff(pause), backoff.WithMaxTries(lockTries))
	return outboxError("change", err)
}

func (o *Outbox) isThere(ctx context.Context, tx transaction) error {
	return tx.Exec(ctx, `SELECT FROM outbox LIMIT 0`)
}

// Read implements [stock.Outbox].
func (o *Outbox) Read(ctx context.Context, after string, limit int) ([]stock.Change, error) {
	at, err := parseCursor(after)
	if err != nil {
		return nil, err
	}
	changes, err := tables.All(ctx, o.store.pool, func(row tables.Row) (c stock.Change, err error) {
		var at cursor
		err = row.Scan(&at.xid, &at.position, &c.SKU, &c.OrderID, &c.BuyerID, &c.Quantity, &c.Status, (*tables.Time)(&c.At))
		c.Cursor, c.Version = at.String(), at.position
		c.Namespace, c.OrderID = stock.SplitOrderKey(c.OrderID)
		return c, err
	}, outboxReadSQL, at.xid, at.position, limit)
	if err == nil && changes == nil {
		return nil, o.Check(ctx, after)
	}
	return changes, outboxError("read", err)
}

// wasGiven takes the transaction of a cursor, and returns whether a read may have returned it.
const wasGiven = `SELECT $1::text::xid8 < pg_snapshot_xmin(pg_current_snapshot())`

// Check returns a [stock.BadCursor] for a cursor that this database cannot have given yet: its reader would miss the changes
// before it, and a trim would remove what nobody has read.
func (o *Outbox) Check(ctx context.Context, text string) error {
	at, err := parseCursor(text)
	if err != nil {
		return err
	}
	var given bool
	if err := tables.Single(ctx, o.store.pool, []any{&given}, wasGiven, at.xid); err != nil {
		return outboxError("check", err)
	}
	if !given {
		return stock.BadCursor(text)
	}
	return nil
}

// trimSize bounds one transaction of a trim.
const trimSize = 10_000

const trimOutbox = `
DELETE FROM outbox WHERE (xid, position) IN (
    SELECT xid, position FROM outbox WHERE (xid, position) <= ($1::text::xid8, $2::bigint) ORDER BY xid, position LIMIT $3)`

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
		tag, err := o.store.pool.Exec(ctx, trimOutbox, at.xid, at.position, trimSize)
		if err != nil {
			return removed, outboxError("trim", err)
		}
		removed += tag.RowsAffected()
		if tag.RowsAffected() < trimSize {
			return removed, nil
		}
	}
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
	case stateOf(err) == undefinedTable:
		return stock.ErrNoOutbox
	default:
		return fmt.Errorf("%s the outbox: %w", what, err)
	}
}
