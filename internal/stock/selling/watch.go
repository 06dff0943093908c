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
		s.observer.NotificationsFail(nil)
	}
	for {
		err := s.store.Watch(s.background, listening, s.onRestock)
		if err == nil || s.background.Err() != nil {
			return
		}
		s.observer.NotificationsFail(err)
		select {
		case <-time.After(pause.NextBackOff()):
		case <-s.background.Done():
			return
		}
	}
}

// onRestock makes the SKU's workers read the segments again, and invalidates its entry of the sold-out cache: there may be
// more units than they know of.
func (s *Service) onRestock(sku string) {
	s.workers.RLock()
	if w := s.workers.selling[sku]; w != nil {
		w.notifications.Add(1)
	}
	s.workers.RUnlock()
	s.soldOut.invalidate(sku)
}

// onMissedRestocks does the same for all SKUs.
func (s *Service) onMissedRestocks() {
	s.workers.RLock()
	for _, w := range s.workers.selling {
		w.notifications.Add(1)
	}
	s.workers.RUnlock()
	s.soldOut.invalidateAll()
}
