package reconcile

import (
	"context"
	"errors"
	"time"

	"inventory/internal/app"
	"inventory/internal/stock"
)

// Audit recomputes a database from its rows.
func Audit(ctx context.Context, databaseURL string) (audit stock.Audit, err error) {
	store, err := app.OpenForReading(ctx, databaseURL)
	if err != nil {
		return stock.Audit{}, err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	return store.Audit(ctx, "")
}

const (
	// limit bounds an audit, which may be of many millions of rows.
	limit = 10 * time.Minute
	// lateLimit bounds it once its run was stopped: a person waits.
	lateLimit = time.Minute
)

// Patience bounds the audit of a run. It outlives the end of ctx, as what was sold until then is audited, too.
func Patience(ctx context.Context) (audit context.Context, cancel context.CancelFunc) {
	return patience(ctx, limit, lateLimit)
}

func patience(ctx context.Context, limit, lateLimit time.Duration) (audit context.Context, cancel context.CancelFunc) {
	audit, end := context.WithTimeout(context.WithoutCancel(ctx), limit)
	stop := context.AfterFunc(ctx, func() { time.AfterFunc(lateLimit, end) })
	return audit, func() {
		stop()
		end()
	}
}
