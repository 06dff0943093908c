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
//
//	expired reservations, the longest overdue first ──> some of their SKUs by chance, so that processes share the work ──> all that
//	nobody holds, together ──> SKUs that are held and long overdue, one by one ──> again, until nothing is due
const (
	sweepEvery  = time.Second
	looksAt     = 2048                   // reservations of one look,
	looksBeyond = 64 * looksAt           // and of the next one, if somebody holds the rows of all that it has found
	sweptAtOnce = 256                    // SKUs of one transaction
	longOverdue = time.Second            // a SKU that is held for as long is waited for,
	heldWait    = 250 * time.Millisecond // so long,
	mostHeld    = 2                      // and so many after one look
)

// sweepExpired gives back the units of expired reservations, until the service closes.
func (s *Service) sweepExpired() {
	for s.pause(sweepEvery/2 + rand.N(sweepEvery)) { // processes take turns
		if err := s.sweepOnce(s.background); err != nil && s.background.Err() == nil {
			s.log.Warn("expired reservations not swept; orders that need their units take them all the same", "error", err)
		}
	}
}

// sweepOnce sweeps until it ends nothing more.
func (s *Service) sweepOnce(ctx context.Context) (failed error) {
	for most := looksAt; ; {
		look, cancel := context.WithTimeout(ctx, writeLimit)
		due, err := s.store.Expired(look, s.at(), most)
		cancel()
		if err != nil || len(due) == 0 {
			return errors.Join(failed, err)
		}
		ended, err := s.sweep(ctx, due)
		switch failed = errors.Join(failed, err); {
		case ended > 0:
		case most == looksAt && len(due) < sweptAtOnce:
			most = looksBeyond
		default:
			return failed
		}
	}
}

// sweep sweeps some of what is due, and returns how many reservations it has ended. A SKU whose reservations cannot be ended, or not in
// time, does not stop it.
func (s *Service) sweep(ctx context.Context, due []stock.Due) (ended int, err error) {
	rand.Shuffle(len(due), func(i, j int) { due[i], due[j] = due[j], due[i] })
	due = due[:min(len(due), sweptAtOnce)]
	together, cancel := context.WithTimeout(ctx, writeLimit)
	reservations, err := s.store.ExpireFree(together, s.at(), stock.Column(due, func(d stock.Due) string { return d.SKU })...)
	cancel()
	most, overdue := mostHeld, longOverdue
	if err != nil { // perhaps because of one of them: each alone
		most, overdue = len(due), 0
	}
	for sku, one := range reservations {
		s.expired(sku, one)
		ended += one.Reservations
	}
	for _, d := range due {
		if reservations[d.SKU].Reservations > 0 || most == 0 || s.now().Sub(d.Since) < overdue {
			continue
		}
		most--
		alone, cancel := context.WithTimeout(ctx, heldWait)
		err = errors.Join(err, s.expire(alone, d.SKU))
		cancel()
	}
	return ended, err
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
	s.expired(sku, stock.Ended{Reservations: reservations, WasEmpty: true})
	if err != nil {
		return stock.Unavailable(stock.Unwritten(err), "give back expired reservations")
	}
	return nil
}

// expired notes that units of reservations are back. Whether the SKU has units has changed only if it had none.
func (s *Service) expired(sku string, ended stock.Ended) {
	if ended.Reservations == 0 {
		return
	}
	s.observe(Activity{Kind: ReservationsExpired, Count: ended.Reservations})
	if ended.WasEmpty {
		s.changed(sku, 0)
	}
	s.onRestock(sku)
}

// noteExpired notes that a write has given units of reservations back before it took others.
func (s *Service) noteExpired(sku string, reservations int) {
	if reservations > 0 {
		s.observe(Activity{Kind: ReservationsExpired, Count: reservations})
		s.changed(sku, 0)
	}
}
