package tables

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"inventory/internal/stock"
)

// Outbox is the part of a [stock.Outbox] that is the same in all SQL databases. A store's outbox embeds one, and turns it on and off.
type Outbox struct {
	Store    Base
	First    string                   // a cursor before all changes
	IsCursor func(cursor string) bool // says whether a text can be a cursor
	TrimSize int                      // bounds one transaction of a trim
}

// Read implements [stock.Outbox].
func (o Outbox) Read(ctx context.Context, after string, limit int) ([]stock.Change, error) {
	if err := o.parse(after); err != nil {
		return nil, err
	}
	changes, err := All(ctx, o.Store.DB, func(row Row) (c stock.Change, err error) {
		err = row.Scan(&c.Cursor, &c.Version, &c.SKU, &c.OrderID, &c.BuyerID, &c.Quantity, &c.Status, (*Time)(&c.At), &c.WrittenOff)
		c.Namespace, c.OrderID = stock.SplitOrderKey(c.OrderID)
		return c, err
	}, "outbox_read", cmp.Or(after, o.First), limit)
	if err == nil && changes == nil {
		return nil, o.Check(ctx, after)
	}
	return changes, o.Error("read", err)
}

func (o Outbox) parse(cursor string) error {
	if cursor != "" && !o.IsCursor(cursor) {
		return stock.BadCursor(cursor)
	}
	return nil
}

// Check returns a [stock.BadCursor] for a cursor that this database cannot have given yet: its reader would miss the changes
// before it, and a trim would remove what nobody has read.
func (o Outbox) Check(ctx context.Context, cursor string) error {
	if err := o.parse(cursor); err != nil {
		return err
	}
	var given bool
	if err := Single(ctx, o.Store.DB, []any{&given}, "outbox_was_given", cmp.Or(cursor, o.First)); err != nil {
		return o.Error("check", err)
	}
	if !given {
		return stock.BadCursor(cursor)
	}
	return nil
}

// Trim implements [stock.Outbox].
func (o Outbox) Trim(ctx context.Context, before string) (removed int64, err error) {
	if err := o.Check(ctx, before); err != nil {
		return 0, err
	}
	for {
		var n int64
		err := o.Store.InTx(ctx, time.Time{}, func(tx Tx) error {
			trim := &Statements{}
			trim.Exec("outbox_trim", cmp.Or(before, o.First), o.TrimSize).Wrote = func(rows int64) error {
				n = rows
				return nil
			}
			return tx.Send(ctx, trim)
		})
		if err != nil {
			return removed, o.Error("trim", err)
		}
		if removed += n; n < int64(o.TrimSize) {
			return removed, nil
		}
	}
}

// Status implements [stock.Outbox].
func (o Outbox) Status(ctx context.Context) (s stock.OutboxStatus, err error) {
	err = Single(ctx, o.Store.DB, []any{&s.On, &s.Rows, &s.About, (*Time)(&s.Oldest), (*Time)(&s.Newest)}, "outbox_status", stock.OutboxCounted)
	return s, o.Error("read", err)
}

// Error says what was tried with the outbox when it failed.
func (o Outbox) Error(what string, err error) error {
	if err != nil {
		return fmt.Errorf("%s the outbox: %w", what, err)
	}
	return nil
}
