package tables

import (
	"context"
	"sync"
	"time"

	"inventory/internal/stock"
)

// Swept is until when no reservation is live, as far as a store knows: searches for reservations that have expired begin there. An index
// keeps the entries of reservations that have ended until no snapshot needs them, and a search from the beginning reads them all.
//
// A look for expired reservations moves the instant to the earliest that it finds, or to its own beginning. A transaction that is late
// may commit a reservation that has expired before: so the instant stays lateBy behind, and every lookAgain a look begins at the
// beginning.
//
// Nil knows nothing. It is safe for concurrent use.
type Swept struct {
	mu     sync.Mutex
	until  time.Time // zero: not known
	looked time.Time // when a look last began at the beginning
}

const (
	lateBy    = 5 * time.Second
	lookAgain = time.Minute
)

// Until returns the instant as an argument for a decision at an instant; null if that is given, or if it is not known.
func (w *Swept) Until(given time.Time) Instant {
	if w == nil || !given.IsZero() {
		return Instant{}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return Instant(w.until)
}

// from returns where a look begins.
func (w *Swept) from(given time.Time) Instant {
	if w == nil || !given.IsZero() {
		return Instant{}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if now := time.Now(); w.looked.IsZero() || now.Sub(w.looked) > lookAgain {
		w.looked = now
		return Instant{}
	}
	return Instant(w.until)
}

// found notes what a look has found that began at an instant of the store's clock. All earlier reservations have ended.
func (w *Swept) found(due []stock.Due, began time.Time) {
	if w == nil {
		return
	}
	if len(due) > 0 && due[0].Since.Before(began) {
		began = due[0].Since
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.until = began.Add(-lateBy)
}

// Expired implements [stock.Store].
func (b Base) Expired(ctx context.Context, at time.Time, limit int) ([]stock.Due, error) {
	from, began := b.Swept.from(at), time.Time{}
	if b.Swept != nil {
		began = b.Now()
	}
	due, err := All(ctx, b.DB, func(row Row) (d stock.Due, err error) {
		err = row.Scan(&d.SKU, (*Time)(&d.Since))
		return d, err
	}, "skus_with_expired", At(at), from, limit)
	if err == nil && at.IsZero() {
		b.Swept.found(due, began)
	}
	return due, err
}

// Expire implements [stock.Store].
func (b Base) Expire(ctx context.Context, sku string, at time.Time) (reservations int, err error) {
	for {
		var due bool // read without locks: another process may have given the units back already
		if err := Single(ctx, b.DB, []any{&due}, "has_expired", sku, At(at), b.Swept.Until(at)); err != nil || !due {
			return reservations, err
		}
		some := 0
		err := b.InTx(ctx, time.Time{}, func(tx Tx) error {
			read, told := &Statements{}, &Statements{}
			tx.RowWait(read, untilLate(ctx))
			_, expired := read.LockRefilled(tx, sku, at)
			if err := tx.Send(ctx, read); err != nil {
				return err
			}
			if some = *expired; some > 0 {
				tx.Notify(told, sku)
			}
			return tx.Send(ctx, told)
		})
		if err != nil {
			return reservations, err
		}
		if reservations += some; some < stock.ExpireLimit {
			return reservations, nil
		}
	}
}

// ExpireFree implements [stock.Store], SKU by SKU.
func (b Base) ExpireFree(ctx context.Context, at time.Time, skus ...string) (map[string]stock.Ended, error) {
	ended := make(map[string]stock.Ended, len(skus))
	for _, sku := range skus {
		n, err := b.Expire(ctx, sku, at)
		if n > 0 {
			ended[sku] = stock.Ended{Reservations: n, WasEmpty: true}
		}
		if err != nil {
			return ended, err
		}
	}
	return ended, nil
}
