package selling

import (
	"context"
	"errors"
	"fmt"
	"time"

	"inventory/internal/stock"
)

// LearnEvery is how often a service reads which buyers are forgotten.
const LearnEvery = 5 * time.Second

// ForgetNotice is how long it is noted that a buyer is being forgotten before any row changes. Nothing is written for a request after its
// deadline, which the database checks. So no process writes the buyer's id later, also if it stood still meanwhile: see [Service.KeptName].
const ForgetNotice = 6 * LearnEvery

// forgetMargin is how much earlier the last write with an old id has ended.
const forgetMargin = 2 * time.Second

// forgotten says which of the buyers who are forgotten, or about to be, are done, as it was read at an instant or later.
type forgotten struct {
	done map[string]bool
	read time.Time
}

// ErrForgetKey means that buyers were forgotten with another key than the one of this process.
var ErrForgetKey = errors.New("buyers were forgotten with another key: their limits would begin anew")

// LearnForgotten reads which buyers are forgotten. Without a key it does nothing.
func (s *Service) LearnForgotten(ctx context.Context) error {
	if s.forgetKey == nil {
		return nil
	}
	now := forgotten{done: make(map[string]bool), read: time.Now()}
	all, err := s.store.Forgotten(ctx)
	if err != nil {
		return fmt.Errorf("read which buyers are forgotten: %w", err)
	}
	for _, buyer := range all {
		now.done[buyer.Name] = buyer.Done
	}
	if !now.done[stock.Pseudonym(s.forgetKey, "")] && len(all) > 0 {
		return ErrForgetKey
	}
	s.forgotten.Store(&now)
	return nil
}

// learn reads now and then which buyers are forgotten, until the service closes.
func (s *Service) learn() {
	for s.forgetKey != nil && s.pause(LearnEvery) {
		ctx, cancel := context.WithTimeout(s.background, LearnEvery)
		if err := s.LearnForgotten(ctx); err != nil && s.background.Err() == nil {
			s.log.Warn("which buyers are forgotten could not be read", "error", err)
		}
		cancel()
	}
}

var (
	errForgetting = errors.New("the buyer is being forgotten")
	errNotRead    = errors.New("it could not be read for a while which buyers are forgotten")
)

// KeptName returns what the orders of a buyer are kept under: the buyer's id, or the name of a buyer who is forgotten. While a buyer is being
// forgotten it is not known, and the request must be sent again. The same holds if what was read is so old that a request could be
// written, just before its deadline, when rows of the buyer have changed.
func (s *Service) KeptName(buyerID string) (string, error) {
	if s.forgetKey == nil || buyerID == "" {
		return buyerID, nil
	}
	known := s.forgotten.Load()
	if known == nil || time.Since(known.read) > ForgetNotice-forgetMargin-s.answerWithin {
		return "", unknownName(errNotRead)
	}
	if len(known.done) == 0 {
		return buyerID, nil
	}
	name := stock.Pseudonym(s.forgetKey, buyerID)
	switch done, is := known.done[name]; {
	case !is:
		return buyerID, nil
	case !done:
		return "", unknownName(errForgetting)
	default:
		return name, nil
	}
}

func unknownName(why error) error {
	return stock.Unavailable(stock.Unwritten(why), "find the buyer's orders")
}
