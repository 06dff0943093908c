package postgres

import (
	"context"
	_ "embed"
	"time"

	"inventory/internal/stock"
	"inventory/internal/stock/tables"
)

//go:embed expire.sql
var expireSQL string

// Expire implements [stock.Store].
func (s *Store) Expire(ctx context.Context, sku string, at time.Time) (reservations int, err error) {
	for {
		var due bool // asked without locks: another process may have given the units back already
		if err := tables.Single(ctx, s.pool, []any{&due}, tables.HasExpired, sku, instant(at)); err != nil || !due {
			return reservations, err
		}
		n, err := s.expireSome(ctx, sku, at)
		reservations += n
		if err != nil || n < stock.ExpireLimit {
			return reservations, err
		}
	}
}

func (s *Store) expireSome(ctx context.Context, sku string, at time.Time) (reservations int, err error) {
	err = s.inTx(ctx, time.Time{}, func(tx transaction) error {
		trip, told := &tables.Trip{}, &tables.Trip{}
		trip.LockAll(sku)
		back := tx.Expire(trip, sku, at)
		if err := tx.Send(ctx, trip); err != nil {
			return err
		}
		if reservations = back.Reservations; reservations > 0 {
			tx.Notify(told, sku)
		}
		return tx.Send(ctx, told)
	})
	return reservations, err
}

// Expire implements [tables.Tx].
func (t transaction) Expire(trip *tables.Trip, sku string, at time.Time) *tables.Returned {
	back := &tables.Returned{Segments: make(map[int]int64)}
	trip.Each(func(row tables.Row) error {
		var segments, units []int64
		err := row.Scan(&back.Reservations, &segments, &units)
		for i, segment := range segments {
			back.Segments[int(segment)] = units[i]
		}
		return err
	}, expireSQL, sku, instant(at), stock.ExpireLimit)
	return back
}
