package load

import (
	"net/http"
	"strings"

	"inventory/internal/api/client"
	"inventory/loadtest/internal/history"
)

// Outcome is what became of a request.
type Outcome uint8

// The outcomes.
const (
	NotSent           Outcome = iota // the run ended before its time came
	Accepted                         // 201
	Replayed                         // 200: it had happened before, or changed nothing
	SoldOut                          // 409, as the next three
	InsufficientStock                //
	BuyerLimit                       //
	SaleClosed                       //
	Overloaded                       // 503, and nothing happened
	Refused                          // another 4xx; Result.Codes tells which
	Failed                           // another 5xx: what happened is not known
	Unreached                        // there was no connection: nothing was sent
	Unknown                          // sent, and no answer in HTTP came in time
	Dropped                          // not sent: its time had passed by too much when a connection was free
	GaveUp                           // of a closed loop: it still waited for a lock when the window was over
	outcomes
)

// Outcomes are all that a request may come to, NotSent aside.
func Outcomes() (all []Outcome) {
	for o := Accepted; o < outcomes; o++ {
		all = append(all, o)
	}
	return all
}

// String is the outcome for people. Where the service has a code for it, that has the same words.
func (o Outcome) String() string {
	return [...]string{
		"not sent", "accepted", "replayed", "sold out", "insufficient stock", "buyer limit", "sale closed", "overloaded",
		"refused otherwise", "failed", "not connected", "no answer", "dropped", "gave up",
	}[o]
}

// Done reports whether it happened, now or before.
func (o Outcome) Done() bool { return o == Accepted || o == Replayed }

// Short reports whether it was refused for want of units.
func (o Outcome) Short() bool { return o == SoldOut || o == InsufficientStock }

// OutcomeOf is what became of an attempt.
func OutcomeOf(a history.Attempt) Outcome {
	switch code := a.Answer.Code; {
	case a.NotSent:
		return Unreached
	case a.Answer.Status == 0:
		return Unknown
	case a.Answer.Status == http.StatusCreated:
		return Accepted
	case a.Answer.Accepted():
		return Replayed
	case code == client.Overloaded:
		return Overloaded
	case a.Answer.Status == http.StatusConflict:
		for o := SoldOut; o <= SaleClosed; o++ {
			if strings.ReplaceAll(string(code), "_", " ") == o.String() {
				return o
			}
		}
		return Refused
	case a.Answer.Refused():
		return Refused
	default:
		return Failed
	}
}

// Counts are numbers of requests by what became of them.
type Counts [outcomes]int64

// Of counts the requests that came to some outcomes.
func (c Counts) Of(some ...Outcome) (n int64) {
	for _, o := range some {
		n += c[o]
	}
	return n
}

// Answered counts the requests with an answer.
func (c Counts) Answered() (n int64) {
	for o := Accepted; o <= Failed; o++ {
		n += c[o]
	}
	return n
}

// Plus returns both together.
func (c Counts) Plus(o Counts) Counts {
	for outcome, n := range o {
		c[outcome] += n
	}
	return c
}
