package openloop

import (
	"bytes"
	"net/http"
)

// Outcome is what became of a request.
type Outcome uint8

// The outcomes. Those up to Refused are answers that say what happened.
const (
	NotSent           Outcome = iota // the run ended before its time came
	Accepted                         // 201
	Replayed                         // 200: it had happened before
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
	outcomes
)

// Outcomes are all that a request may come to, NotSent aside.
func Outcomes() (all []Outcome) {
	for o := Accepted; o < outcomes; o++ {
		all = append(all, o)
	}
	return all
}

// String is the outcome as the service names it, where it does.
func (o Outcome) String() string {
	return [...]string{
		"not_sent", "accepted", "replayed", "sold_out", "insufficient_stock", "buyer_limit", "sale_closed", "overloaded",
		"refused", "failed", "unreached", "unknown", "dropped",
	}[o]
}

// Answered tells whether an answer came.
func (o Outcome) Answered() bool { return o >= Accepted && o <= Failed }

// Open tells whether what was asked for may have happened although nobody was told.
func (o Outcome) Open() bool { return o == Failed || o == Unknown }

// outcomeOf tells what an answer says, and the code of a problem.
func outcomeOf(status int, body []byte) (Outcome, string) {
	switch status {
	case http.StatusCreated:
		return Accepted, ""
	case http.StatusOK:
		return Replayed, ""
	}
	code := codeOf(body)
	switch {
	case status == http.StatusConflict:
		for o := SoldOut; o <= SaleClosed; o++ {
			if string(code) == o.String() {
				return o, o.String()
			}
		}
		return Refused, string(code)
	case status == http.StatusServiceUnavailable && string(code) == Overloaded.String():
		return Overloaded, Overloaded.String()
	case status >= http.StatusBadRequest && status < http.StatusInternalServerError:
		return Refused, string(code)
	}
	return Failed, string(code)
}

var codeName = []byte(`"code":"`)

// codeOf is the code of a problem, as far as it can be found without reading all of the JSON.
func codeOf(body []byte) []byte {
	_, after, found := bytes.Cut(body, codeName)
	if !found {
		return nil
	}
	code, _, _ := bytes.Cut(after, []byte{'"'})
	return code
}
