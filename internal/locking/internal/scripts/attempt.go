package scripts

import (
	"errors"
	"strconv"
	"sync/atomic"
	"time"
)

// ErrNoAnswer means that the server did not answer in time.
var ErrNoAnswer = errors.New("locking: no answer from the server in time")

// An Attempt is the number of one script call, and an argument of it. Numbers grow with every attempt of the process. The
// argument counts how often the client puts it on the wire. A client cannot be kept from sending a script again, but
// the count shows: sent 0 times, nothing can have happened; sent once and answered, no copy is under way; sent more often,
// a copy may arrive at any time.
type Attempt struct {
	Number int64
	sent   atomic.Int32
	anew   time.Time // when nothing had happened yet, though it had been sent
}

// String returns the number. The client prints what it sends where it is asked to, perhaps while we change the count.
func (a *Attempt) String() string { return strconv.FormatInt(a.Number, 10) }

// Sent reports whether the attempt was sent.
func (a *Attempt) Sent() bool { return a.sent.Load() > 0 }

// Resent reports whether the attempt was sent more than once.
func (a *Attempt) Resent() bool { return a.sent.Load() > 1 }

// NotDone notes that a copy that was sent once has been refused before it did anything.
func (a *Attempt) NotDone() {
	if a.sent.CompareAndSwap(1, 0) {
		a.anew = time.Now()
	}
}

// Began returns the latest time before the server can have done it: start, or when all copies until then had been refused. Call
// it only after an answer.
func (a *Attempt) Began(start time.Time) time.Time {
	if a.anew.After(start) {
		return a.anew
	}
	return start
}

// GiveUp reports whether the attempt has never been sent; then it never will be.
func (a *Attempt) GiveUp() bool { return a.sent.CompareAndSwap(0, -1) }

// MarshalBinary is called by the client each time it writes the argument.
func (a *Attempt) MarshalBinary() ([]byte, error) {
	for {
		sent := a.sent.Load()
		if sent < 0 {
			return nil, ErrNoAnswer // the caller no longer waits
		}
		if a.sent.CompareAndSwap(sent, sent+1) {
			break
		}
	}
	return strconv.AppendInt(nil, a.Number, 10), nil
}
