package flashsale

import (
	"time"

	"inventory/loadtest/internal/openloop"
)

// fate is what became of an order, over all its requests.
type fate struct {
	heard    time.Duration // when the first answer came that it is or was accepted; never: none did
	earliest time.Duration // when the first request was sent that may have taken the units; never: none was
	over     time.Duration // when the latest of its requests so far was over
	accepted int32         // answers that it was accepted now
	replayed int32         // answers that it had been
	open     int32         // requests of which nobody knows whether they took anything
	sent     bool
	denied   bool // it was refused after the buyer had been told that it is accepted

	hasRow bool
	asked  bool  // the row is what was asked for
	units  int64 // of the row
}

// never is later than everything.
const never = time.Duration(1<<63 - 1)

// told tells whether the buyer knows of the order.
func (f *fate) told() bool { return f.accepted+f.replayed > 0 }

// standing is what a buyer knew of an order when it was asked for again.
type standing int

const (
	winner    standing = iota // it had been accepted
	refused                   // it had been refused each time
	undecided                 // no answer had come, or none ever did
	standings
)

func (s standing) String() string {
	return [...]string{"of winners", "of the refused", "not decided then"}[s]
}

// fates goes through the requests of a round, and counts what retries got. The fate of an order is at the index of its
// first request.
func (r *round) fates() (all []fate, retried [standings]openloop.Counts) {
	all = make([]fate, len(r.at))
	for i := range all {
		all[i].heard, all[i].earliest = never, never
	}
	for i, reply := range r.result.Replies {
		f := &all[r.orders.First(i)]
		if r.orders.First(i) != i && reply.Outcome != openloop.NotSent {
			stands := f.standing(reply.Sent)
			retried[stands][reply.Outcome]++
			if stands == winner && refusal(reply.Outcome) {
				f.denied = true
			}
		}
		f.add(reply)
	}
	return all, retried
}

// standing is that of the order at a time, as far as its earlier requests tell.
func (f *fate) standing(at time.Duration) standing {
	switch {
	case f.heard <= at:
		return winner
	case f.sent && f.open == 0 && f.over <= at && !f.told():
		return refused
	}
	return undecided
}

// add adds a request.
func (f *fate) add(reply openloop.Reply) {
	if reply.Sent == 0 {
		return
	}
	f.sent = true
	f.over = max(f.over, reply.Over)
	switch {
	case reply.Outcome == openloop.Accepted:
		f.accepted++
	case reply.Outcome == openloop.Replayed:
		f.replayed++
	case reply.Outcome.Open():
		f.open++
	default:
		return
	}
	f.earliest = min(f.earliest, reply.Sent)
	if !reply.Outcome.Open() {
		f.heard = min(f.heard, reply.Over)
	}
}

// refusal tells whether an outcome says that there is nothing to be had.
func refusal(o openloop.Outcome) bool { return o >= openloop.SoldOut && o <= openloop.SaleClosed }
