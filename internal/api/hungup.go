package api

import (
	"context"
	"errors"
	"time"

	"inventory/internal/stock"
)

// A caller that hangs up is not our error: the request is counted as client_gone, and not logged. Usually the caller
// reads no answer. A caller that has closed only its half of the connection still reads: it gets the answer of a request
// with an unknown outcome.
const (
	statusHungUp            = 499 // the number that proxies use
	codeHungUp   stock.Code = "client_gone"
)

// errHungUp is the cause of errors in reading from a caller that hung up.
var errHungUp = errors.New("the caller hung up")

// hungUp is the error of a request whose caller hung up before it was answered, and which failed because of that.
type hungUp struct{ error }

// Unwrap returns what failed.
func (e hungUp) Unwrap() error { return e.error }

// hungUpOr returns err as a hungUp if the request failed because its caller hung up. It knows that from the caller's
// context, which net/http then ends, and from the connection, which may show it earlier. A request that ran out of our
// own time, or whose database failed, failed because of that, even if its caller has left meanwhile.
func hungUpOr(caller context.Context, err error) error {
	cancelled := errors.Is(err, errHungUp) || errors.Is(err, context.Canceled) && stock.CodeOf(err) == stock.CodeUnavailable
	if cancelled && errors.Is(waitUntil(caller, time.Time{}).Err(), context.Canceled) {
		return hungUp{err}
	}
	return err
}

func isHungUp(err error) bool {
	_, gone := errors.AsType[hungUp](err)
	return gone
}
