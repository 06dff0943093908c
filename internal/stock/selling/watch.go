package selling

import (
	"time"

	"github.com/cenkalti/backoff/v5"
)

// How long the service waits before it listens again, once notifications have failed.
const (
	firstPause   = 20 * time.Millisecond
	longestPause = 2 * time.Second
)

// watch applies notifications of other processes' restocks, until the service closes. While they fail, entries of the
// sold-out cache end by the clock alone.
func (s *Service) watch() {
	pause := backoff.NewExponentialBackOff()
	pause.InitialInterval, pause.MaxInterval = firstPause, longestPause
	listening := func() {
		pause.Reset()
		s.onMissedRestocks() // a notification may have been missed
		s.noteNotifications(nil)
	}
	for {
		err := s.store.Watch(s.background, listening, s.onRestock)
		if err == nil || s.background.Err() != nil {
			return
		}
		s.noteNotifications(err)
		select {
		case <-time.After(pause.NextBackOff()):
		case <-s.background.Done():
			return
		}
	}
}

// noteNotifications reports when notifications begin to fail and when they work again. Only watch calls it.
func (s *Service) noteNotifications(err error) {
	failing := err != nil
	if failing == s.notificationsFail {
		return
	}
	s.notificationsFail = failing
	s.observer.NotificationsFail(failing)
	if failing {
		s.log.Warn("notifications of restocks fail; sold out may last a second longer than it is true", "error", err)
	} else {
		s.log.Info("notifications of restocks work again")
	}
}

// onRestock makes the SKU's workers read the segments again, and invalidates its entry of the sold-out cache: there may be
// more units than they know of.
func (s *Service) onRestock(sku string) {
	s.workers.RLock()
	if seller := s.workers.sellers[sku]; seller != nil {
		seller.notifications.Add(1)
	}
	s.workers.RUnlock()
	s.soldOut.invalidate(sku)
}

// onMissedRestocks does the same for all SKUs.
func (s *Service) onMissedRestocks() {
	s.workers.RLock()
	for _, seller := range s.workers.sellers {
		seller.notifications.Add(1)
	}
	s.workers.RUnlock()
	s.soldOut.invalidateAll()
}
