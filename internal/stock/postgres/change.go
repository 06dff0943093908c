package postgres

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"inventory/internal/stock"
	"inventory/internal/stock/tables"
)

// mostChangedAtOnce bounds the lines of a change that is one message: it may wait for the row of each.
const mostChangedAtOnce = 20

// ChangeOrder implements [stock.Store].
//
// A usual change is one message, from what was seen of the order and its SKUs, or changes nothing. Any other one has a transaction.
func (s *Store) ChangeOrder(ctx context.Context, r stock.Revision) (done stock.Revised, err error) {
	if done, err = s.changeAtOnce(ctx, r); done.Created || err != nil {
		return done, err
	}
	return s.Base.ChangeOrder(ctx, r)
}

// changeAtOnce makes a usual change. If it is not one, nothing is written.
//
// It is decided by the earliest time that the server's clock can show: after all that was seen, and before the locks.
func (s *Store) changeAtOnce(ctx context.Context, r stock.Revision) (none stock.Revised, err error) {
	until, _ := ctx.Deadline()
	at := cmp.Or(r.At, s.Now().Truncate(time.Microsecond))
	change, done, usual := tables.ChangeSeen(transaction{db: s.pool}, r, at, s.deadline(stock.Earlier(r.Deadline, until)))
	if !usual || at.IsZero() || len(r.Lines) > mostChangedAtOnce {
		return none, nil
	}
	statements := locksOf(s.pool.access)
	statements.Exec("limit_waits", lineWait)
	statements.List = append(statements.List, change.List...)
	switch err = s.pool.writing().send(ctx, statements); {
	case nothingWritten(err): // it is not as it was seen, or too late
		return none, nil
	case err != nil:
		return none, fmt.Errorf("change the order at once: %w", err)
	}
	return done, nil
}
