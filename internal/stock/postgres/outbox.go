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
type Outbox struct {
	tables.Outbox
	store *Store
}

var _ stock.Outbox = (*Outbox)(nil)

// Outbox returns the outbox of the database.
func (s *Store) Outbox() *Outbox {
	return &Outbox{tables.Outbox{Store: s.Base, First: "0.0", IsCursor: IsCursor, TrimSize: trimSize}, s}
}

// trimSize bounds one transaction of a trim.
const trimSize = 10_000

// On implements [stock.Outbox].
func (o *Outbox) On(ctx context.Context) error {
	return o.change(ctx, append([]string{"outbox_lock_on"}, watching()...)...)
}

// watching names the statements that turn an outbox on.
func watching() []string {
	return []string{"outbox_on_insert", "outbox_on_change", "outbox_watch_inserts", "outbox_watch_changes"}
}

// TurnOutboxOn returns what [Outbox.On] does, for a transaction that has the tables to itself.
func TurnOutboxOn() (texts []string) {
	for _, name := range watching() {
		texts = append(texts, statements().Of(name).Text)
	}
	return texts
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
			change := &tables.Statements{}
			for _, name := range append([]string{"outbox_is_there", "outbox_limit_wait"}, statements...) {
				change.Exec(name)
			}
			return tx.Send(ctx, change)
		})
		if err != nil && !Deadlocked(err) {
			err = backoff.Permanent(err)
		}
		return struct{}{}, err
	}, backoff.WithBackOff(pause), backoff.WithMaxTries(lockTries))
	return o.Error("change", err)
}

// IsCursor reports whether a text is a cursor: XID.POSITION, the position after a row of the outbox; "" is before all.
func IsCursor(text string) bool {
	transaction, place, _ := strings.Cut(text, ".")
	xid, unread := strconv.ParseUint(transaction, 10, 64)
	position, err := strconv.ParseInt(place, 10, 64)
	return text == "" || unread == nil && err == nil && position >= 0 && fmt.Sprintf("%d.%d", xid, position) == text
}
