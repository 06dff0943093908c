package sqlite

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	driver "modernc.org/sqlite"
	codes "modernc.org/sqlite/lib"

	"inventory/internal/stock"
	"inventory/internal/stock/tables"
)

// Outbox is the [stock.Outbox] of a SQLite file. Other processes than the owner of the file may use it too. Transactions
// write one after another, so the changes are in the order of their commits and a cursor is the number of a row.
type Outbox struct{ store *Store }

var _ stock.Outbox = (*Outbox)(nil)

// Outbox returns the outbox of the database. On a store that was opened for reading it can only be read.
func (s *Store) Outbox() *Outbox { return &Outbox{s} }

// On implements [stock.Outbox]. Triggers of an older version are replaced.
func (o *Outbox) On(ctx context.Context) error {
	return o.change(ctx, "outbox_ignore_inserts", "outbox_ignore_changes", "outbox_watch_inserts", "outbox_watch_changes")
}

// TurnOutboxOn returns what [Outbox.On] does, for another transaction.
func TurnOutboxOn() []string {
	all := tables.ReadSQL(files)
	return []string{all.Of("outbox_watch_inserts").Text, all.Of("outbox_watch_changes").Text}
}

// Off implements [stock.Outbox].
func (o *Outbox) Off(ctx context.Context) error {
	return o.change(ctx, "outbox_ignore_inserts", "outbox_ignore_changes")
}

// lockTries is how often a change waits for its turn, each time as long as a connection waits. SQLite gives the file to the
// first process that tries when it is free, and a store that sells without a pause nearly always tries first.
const lockTries = 6

func (o *Outbox) change(ctx context.Context, statements ...string) error {
	var err error
	for range lockTries {
		err = o.store.inTx(ctx, time.Time{}, func(tx *transaction) error {
			for _, name := range append([]string{"outbox_is_there"}, statements...) {
				if _, err := tx.exec(ctx, name); err != nil {
					return err
				}
			}
			return nil
		})
		if !busy(err) {
			break
		}
	}
	return outboxError("change", err)
}

// busy reports whether others had the file the whole time.
func busy(err error) bool {
	var e *driver.Error
	return errors.As(err, &e) && e.Code()&0xff == codes.SQLITE_BUSY
}

// Read implements [stock.Outbox].
func (o *Outbox) Read(ctx context.Context, after string, limit int) ([]stock.Change, error) {
	position, err := parseCursor(after)
	if err != nil {
		return nil, err
	}
	changes, err := tables.All(ctx, o.store.reader, func(row tables.Row) (c stock.Change, err error) {
		err = row.Scan(&c.Version, &c.SKU, &c.OrderID, &c.BuyerID, &c.Quantity, &c.Status, (*tables.Time)(&c.At), &c.WrittenOff)
		c.Namespace, c.OrderID = stock.SplitOrderKey(c.OrderID)
		c.Cursor = strconv.FormatInt(c.Version, 10)
		return c, err
	}, "outbox_read", position, limit)
	if err == nil && changes == nil {
		err = o.hasGiven(ctx, position)
	}
	return changes, outboxError("read", err)
}

// hasGiven returns an error for a cursor that this file cannot have given yet: its reader would miss the changes before it,
// and a trim would remove what nobody has read.
func (o *Outbox) hasGiven(ctx context.Context, position int64) error {
	var last int64
	if err := tables.Single(ctx, o.store.reader, []any{&last}, "outbox_last"); err != nil {
		return err
	}
	if position > last {
		return stock.BadCursor(strconv.FormatInt(position, 10))
	}
	return nil
}

// trimSize bounds one transaction of a trim: sales wait for it.
const trimSize = 1000

// Trim implements [stock.Outbox].
func (o *Outbox) Trim(ctx context.Context, before string) (removed int64, err error) {
	position, err := parseCursor(before)
	if err != nil {
		return 0, err
	}
	if err := o.hasGiven(ctx, position); err != nil {
		return 0, outboxError("trim", err)
	}
	for {
		var n int64
		err := o.store.inTx(ctx, time.Time{}, func(tx *transaction) error {
			done, err := tx.exec(ctx, "outbox_trim", position, trimSize)
			if err == nil {
				n, err = done.RowsAffected()
			}
			return err
		})
		removed += n
		if err != nil || n < trimSize {
			return removed, outboxError("trim", err)
		}
	}
}

// Status implements [stock.Outbox].
func (o *Outbox) Status(ctx context.Context) (stock.OutboxStatus, error) {
	status, err := tables.OutboxStatus(ctx, o.store.reader)
	return status, outboxError("read", err)
}

func parseCursor(text string) (position int64, err error) {
	if text == "" {
		return 0, nil
	}
	if position, err = strconv.ParseInt(text, 10, 64); err != nil || position < 0 || strconv.FormatInt(position, 10) != text {
		return 0, stock.BadCursor(text)
	}
	return position, nil
}

func outboxError(what string, err error) error {
	switch {
	case err == nil:
		return nil
	case strings.Contains(err.Error(), "no such table: outbox"), strings.Contains(err.Error(), "no such table: sqlite_sequence"):
		return stock.ErrNoOutbox
	default:
		return fmt.Errorf("%s the outbox: %w", what, err)
	}
}
