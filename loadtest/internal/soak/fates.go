package soak

import (
	"time"

	"inventory/loadtest/internal/openloop"
)

// said is what was answered to all requests that asked for one thing.
type said struct {
	sent bool          // one was: the service may have heard of it
	yes  bool          // it was done, now or before
	open bool          // one got no answer: it may have been done
	from time.Duration // when that it was done was first heard
}

// hear adds what became of a request.
func (s *said) hear(r openloop.Reply) {
	s.sent = s.sent || r.Sent > 0
	switch {
	case r.Outcome == openloop.Accepted || r.Outcome == openloop.Replayed:
		if !s.yes || r.Over < s.from {
			s.from = r.Over
		}
		s.yes = true
	case r.Outcome.Open():
		s.open = true
	}
}

// before tells whether something was known to be done when a request was sent.
func (s said) before(r openloop.Reply) bool { return s.yes && r.Sent > 0 && s.from < r.Sent }

// fate is what was answered about an order, a reservation or a movement: by the number of the request that asked for it first.
type fate struct {
	done, committed, cancelled said
}

// fates gathers the answers.
func (s *soak) fates() []fate {
	all := make([]fate, len(s.plan.items))
	for i, reply := range s.result.Replies {
		x := s.plan.items[i]
		f := &all[x.concern]
		switch x.kind {
		case deduct, reserve, order, retry, restock, adjust, resegment:
			f.done.hear(reply)
		case commit:
			f.committed.hear(reply)
		case cancel, giveBack:
			f.cancelled.hear(reply)
		}
	}
	return all
}

// refusals looks for refusals for which there was no reason.
func (s *soak) refusals(fates []fate) {
	for i, reply := range s.result.Replies {
		if x := s.plan.items[i]; refused(reply.Outcome) && !s.reason(x, fates[x.concern], reply) {
			s.account.complaints.Add("requests were refused for no reason: "+x.kind.String(), s.plan.id(x.concern))
		}
	}
}

// refused tells whether an answer is a no. One that is overloaded refuses everything.
func refused(o openloop.Outcome) bool {
	return o >= openloop.SoldOut && o <= openloop.Refused && o != openloop.Overloaded
}

// reason tells whether there was a reason to refuse a request.
func (s *soak) reason(x item, f fate, r openloop.Reply) bool {
	scarce := r.Outcome == openloop.SoldOut || r.Outcome == openloop.InsufficientStock
	switch x.kind {
	case deduct, reserve, order:
		return scarce
	case retry:
		return scarce && !f.done.before(r)
	case commit, cancel, giveBack, readOrder:
		return r.Outcome == openloop.Refused && !f.done.before(r) // there is no such order
	case adjust:
		return scarce && x.units < 0
	}
	return false
}
