package stock

import (
	"context"
	"math/rand/v2"
	"time"
)

// Nobody has to wait for the sweep: an order that needs units of expired reservations takes them itself. It is for those
// that nobody asks for.
const (
	sweepEvery = time.Second
	sweptSKUs  = 64 // in one sweep, at most
)

// sweep gives back the units of expired reservations, until the service closes.
func (s *Service) sweep() {
	for {
		select {
		case <-time.After(sweepEvery/2 + rand.N(sweepEvery)): // processes take turns
		case <-s.beside.Done():
			return
		}
		if err := s.sweepOnce(s.beside); err != nil && s.beside.Err() == nil {
			s.log.Warn("expired reservations not swept; orders that need their units take them all the same", "error", err)
		}
	}
}

func (s *Service) sweepOnce(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, writeLimit)
	defer cancel()
	skus, err := s.store.Expired(ctx, s.now(), sweptSKUs)
	if err != nil {
		return err
	}
	for _, sku := range skus {
		if _, err := s.expire(ctx, sku); err != nil {
			return err
		}
	}
	return nil
}

// expire gives back the units of a SKU's expired reservations, and tells of how many.
func (s *Service) expire(ctx context.Context, sku string) (reservations int, err error) {
	reservations, err = s.store.Expire(ctx, sku, s.now())
	if err != nil {
		return 0, unavailable(err, "give back expired reservations")
	}
	if reservations > 0 {
		s.noteExpired(sku, reservations)
		s.forget(sku)
	}
	return reservations, nil
}

func (s *Service) noteExpired(sku string, reservations int) {
	if reservations > 0 {
		s.observer.ReservationsExpired(reservations)
		s.events.Publish(Event{Kind: EventBackInStock, SKU: sku, At: s.now()})
	}
}
