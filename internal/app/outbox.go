package app

import (
	"context"
	"errors"
	"fmt"

	"inventory/internal/stock"
	"inventory/internal/stock/citus"
	"inventory/internal/stock/postgres"
	"inventory/internal/stock/sqlite"
)

// Outbox is the open outbox of a database. Close it.
type Outbox struct {
	stock.Outbox
	close func() error
}

// Close closes the database.
func (o *Outbox) Close() error { return o.close() }

// OpenOutbox opens the outbox of a database, also while a service uses it. With readOnly it only reads. It creates
// nothing.
func OpenOutbox(ctx context.Context, databaseURL string, readOnly bool) (*Outbox, error) {
	d, err := parseDatabase(databaseURL)
	if err != nil {
		return nil, err
	}
	if d.citus {
		store, err := citus.Open(ctx, d.postgresURL)
		if err != nil {
			return nil, err
		}
		return &Outbox{store.Outbox(), store.Close}, nil
	}
	if d.file == "" {
		store, err := postgres.Open(ctx, d.postgresURL, 1)
		if err != nil {
			return nil, err
		}
		return &Outbox{store.Outbox(), store.Close}, nil
	}
	if err := d.exists(); err != nil {
		return nil, err
	}
	open := sqlite.Open
	if readOnly {
		open = sqlite.OpenReader
	}
	store, err := open(ctx, d.file)
	if err != nil {
		return nil, fmt.Errorf("open the outbox: %w", err)
	}
	return &Outbox{store.Outbox(), store.Close}, nil
}

// ReadOutboxStatus reads the state of the outbox of a database, also while a service uses it.
func ReadOutboxStatus(ctx context.Context, databaseURL string) (status stock.OutboxStatus, err error) {
	outbox, err := OpenOutbox(ctx, databaseURL, true)
	if err != nil {
		return status, err
	}
	defer func() { err = errors.Join(err, outbox.Close()) }()
	return outbox.Status(ctx)
}
