package selling

import (
	"time"

	"github.com/cenkalti/backoff/v5"
)

// How long the service waits before it listens again, once notices have failed.
const (
	firstPause   = 20 * time.Millisecond
	longestPause = 2 * time.Second
)

// watch forgets what other processes' restocks have ended, until the service closes. While notices fail, what is
// remembered ends by the clock alone.
func (s *Service) watch() {
	pause := backoff.NewExponentialBackOff()
	pause.InitialInterval, pause.MaxInterval = firstPause, longestPause
	listening := func() {
		pause.Reset()
		s.forgetAll() // a notice may have been missed
		s.noteNotices(nil)
	}
	for {
		err := s.store.Watch(s.beside, listening, s.forget)
		if err == nil || s.beside.Err() != nil {
			return
		}
		s.noteNotices(err)
		select {
		case <-time.After(pause.NextBackOff()):
		case <-s.beside.Done():
			return
		}
	}
}

// noteNotices tells when notices begin to fail and when they work again. Only watch calls it.
func (s *Service) noteNotices(err error) {
	failing := err != nil
	if failing == s.noticesFail {
		return
	}
	s.noticesFail = failing
	s.observer.NoticesFail(failing)
	if failing {
		s.log.Warn("notices of restocks fail; sold out may last a second longer than it is true", "error", err)
	} else {
		s.log.Info("notices of restocks work again")
	}
}

// forget makes the SKU's lanes read the segments anew, and ends what is remembered: there may be more than that.
func (s *Service) forget(sku string) {
	s.lanes.RLock()
	if seller := s.lanes.bySKU[sku]; seller != nil {
		seller.news.Add(1)
	}
	s.lanes.RUnlock()
	s.memories.forget(sku)
}

func (s *Service) forgetAll() {
	s.lanes.RLock()
	for _, seller := range s.lanes.bySKU {
		seller.news.Add(1)
	}
	s.lanes.RUnlock()
	s.memories.forgetAll()
}
