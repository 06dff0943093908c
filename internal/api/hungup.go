package api

import (
	"context"
	"errors"
	"time"

	"inventory/internal/stock"
)

// A caller who hangs up is not our error: the request is counted as client_gone, and not logged. Usually nobody reads
// an answer. A caller who has closed only its half of the connection still reads: it gets the answer of any request
// whose outcome is not known.
const (
	statusHungUp            = 499 // as proxies count it
	codeHungUp   stock.Code = "client_gone"
)

// errHungUp is the cause of errors in reading from a caller who hung up.
var errHungUp = errors.New("the caller hung up")

// hungUp is the error of a request whose caller hung up before it was answered, and which failed because of that.
type hungUp struct{ error }

// Unwrap returns what failed.
func (e hungUp) Unwrap() error { return e.error }

// hungUpOr tells whether a request failed because its caller hung up, by the caller's context, which net/http ends
// then, and by its connection, which may tell before. A request that ran out of our own time, or whose database failed,
// failed because of that, even if its caller has left meanwhile.
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
