package selling

import (
	"cmp"
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"inventory/internal/stock"
)

// No order waits for the sweep: one that needs units of expired reservations gives them back itself. The sweep is for the
// other units.
const (
	sweepEvery = time.Second
	sweptSKUs  = 64 // in one sweep, at most
)

// sweepExpired gives back the units of expired reservations, until the service closes.
func (s *Service) sweepExpired() {
	for s.pause(sweepEvery/2 + rand.N(sweepEvery)) { // processes take turns
		if err := s.sweepOnce(s.background); err != nil && s.background.Err() == nil {
			s.log.Warn("expired reservations not swept; orders that need their units take them all the same", "error", err)
		}
	}
}

// sweepOnce does one sweep. A SKU whose reservations cannot be ended, or not in time, does not stop it.
func (s *Service) sweepOnce(ctx context.Context) error {
	look, cancel := context.WithTimeout(ctx, writeLimit)
	defer cancel()
	skus, err := s.store.Expired(look, s.at(), sweptSKUs)
	for _, sku := range skus {
		ending, cancel := context.WithTimeout(ctx, writeLimit)
		err = errors.Join(err, s.expire(ending, sku))
		cancel()
	}
	return err
}

// expireAll gives back the units of the expired reservations of SKUs.
func (s *Service) expireAll(ctx context.Context, skus ...string) (err error) {
	for _, sku := range skus {
		err = cmp.Or(err, s.expire(ctx, sku))
	}
	return err
}

// expire gives back the units of a SKU's expired reservations. For a request that waits for it nothing is written, also if that fails.
func (s *Service) expire(ctx context.Context, sku string) error {
	reservations, err := s.store.Expire(ctx, sku, s.at())
	if reservations > 0 {
		s.noteExpired(sku, reservations)
		s.onRestock(sku)
	}
	if err != nil {
		return stock.Unavailable(stock.Unwritten(err), "give back expired reservations")
	}
	return nil
}

func (s *Service) noteExpired(sku string, reservations int) {
	if reservations > 0 {
		s.observe(Activity{Kind: ReservationsExpired, Count: reservations})
		s.changed(sku, 0)
	}
}
