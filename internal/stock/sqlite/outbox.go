package sqlite

import (
	"context"
	"errors"
	"strconv"
	"time"

	driver "modernc.org/sqlite"
	codes "modernc.org/sqlite/lib"

	"inventory/internal/stock"
	"inventory/internal/stock/tables"
)

// Outbox is the [stock.Outbox] of a SQLite file. Other processes than the owner of the file may use it too. Transactions
// write one after another, so the changes are in the order of their commits and a cursor is the number of a row.
type Outbox struct {
	tables.Outbox
	store *Store
}

var _ stock.Outbox = (*Outbox)(nil)

// Outbox returns the outbox of the database. On a store that was opened for reading it can only be read.
func (s *Store) Outbox() *Outbox {
	return &Outbox{tables.Outbox{Store: s.Base, First: "0", IsCursor: isCursor, TrimSize: trimSize}, s}
}

// trimSize bounds one transaction of a trim: sales wait for it.
const trimSize = 1000

// On implements [stock.Outbox]. Triggers of an older version are replaced.
func (o *Outbox) On(ctx context.Context) error {
	return o.change(ctx, "outbox_ignore_inserts", "outbox_ignore_changes", "outbox_watch_inserts", "outbox_watch_changes")
}

// TurnOutboxOn returns what [Outbox.On] does, for another transaction.
func TurnOutboxOn() []string {
	all := statements()
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
	return o.Error("change", err)
}

// busy reports whether others had the file the whole time.
func busy(err error) bool {
	var e *driver.Error
	return errors.As(err, &e) && e.Code()&0xff == codes.SQLITE_BUSY
}

// isCursor reports whether a text is the number of a row.
func isCursor(text string) bool {
	position, err := strconv.ParseInt(text, 10, 64)
	return err == nil && position >= 0 && strconv.FormatInt(position, 10) == text
}
