package app

import (
	"context"
	"errors"

	"inventory/internal/stock"
	"inventory/internal/stock/citus"
	"inventory/internal/stock/postgres"
	"inventory/internal/stock/sqlite"
)

// WithOutbox opens the outbox of a database for a function, also while a service uses it. With readOnly it only reads. It
// creates nothing.
func WithOutbox(ctx context.Context, databaseURL string, readOnly bool, work func(stock.Outbox) error) (err error) {
	d, err := existing(databaseURL)
	if err != nil {
		return err
	}
	return d.withOutbox(ctx, readOnly, work)
}

func (d database) withOutbox(ctx context.Context, readOnly bool, work func(stock.Outbox) error) (err error) {
	open := sqlite.Open
	if readOnly {
		open = sqlite.OpenReader
	}
	store, err := d.openWith(ctx, open)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	switch store := store.(type) {
	case *citus.Store:
		return work(store.Outbox())
	case *sqlite.Store:
		return work(store.Outbox())
	default:
		return work(store.(*postgres.Store).Outbox())
	}
}

func (d database) outboxStatus(ctx context.Context) (status stock.OutboxStatus, err error) {
	err = d.withOutbox(ctx, true, func(o stock.Outbox) error {
		status, err = o.Status(ctx)
		return err
	})
	return status, err
}
